// Stored documents and chunks: listings, and single records, which come from the shards as serialized JSON. Runs on front
// threads and on the main thread.
import type { DOCUMENT_ROUTES } from '../../api/documents.js';
import { type RecordsContext, getChunk, getChunkContent, getDocument } from '../../service/documents/documents.js';
import { type Page, type Span, listChunks, listDocuments } from '../../service/documents/listings.js';
import { listingReply } from '../listing.js';
import { type Handler, type OwnHandlers, type Reply, collectionOf, flag, param } from '../route.js';

const getDocuments =
  (context: RecordsContext): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const metadata = flag(request, 'metadata');
    const pages = (span: Span): AsyncGenerator<Page> => listDocuments(context, tenant, collection, span, metadata);
    return listingReply(request.query, { head: { tenant, collection }, field: 'documents', pages });
  };

const getOneDocument =
  (context: RecordsContext): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const document = await getDocument(context, tenant, collection, param(request, 'docid'));
    return recordReply({ tenant, collection }, document);
  };

/** `record` is JSON text, which is not parsed again. */
const recordReply = (head: object, record: string): Reply => ({
  status: 200,
  jsonParts: [`${JSON.stringify(head).slice(0, -1)},${record.slice(1, -1)}`],
});

const getDocumentChunks =
  (context: RecordsContext): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const docid = param(request, 'docid');
    const pages = (span: Span): AsyncGenerator<Page> => listChunks(context, tenant, collection, docid, span);
    return listingReply(request.query, {
      head: { tenant, collection, docid },
      field: 'chunks',
      pages,
      placeForm: /^\d{1,9}$/,
    });
  };

const getOneChunk =
  (context: RecordsContext): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const chunk = await getChunk(context, tenant, collection, param(request, 'rid'));
    return recordReply({ tenant, collection }, chunk);
  };

const getContent =
  (context: RecordsContext): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const text = await getChunkContent(context, tenant, collection, param(request, 'rid'));
    return { status: 200, bytes: Buffer.from(text), contentType: 'text/plain; charset=utf-8' };
  };

type RecordOperation = 'listDocuments' | 'getDocument' | 'listChunks' | 'getChunk' | 'getChunkContent';

export const recordHandlers = (
  context: RecordsContext,
): Pick<OwnHandlers<typeof DOCUMENT_ROUTES>, RecordOperation> => ({
  listDocuments: getDocuments(context),
  getDocument: getOneDocument(context),
  listChunks: getDocumentChunks(context),
  getChunk: getOneChunk(context),
  getChunkContent: getContent(context),
});
