// Documents and chunks: ingest, list, get, delete, content.
// Handlers on the front thread: body in, use case, reply out. The route table (routes.ts) names them.
import { mediaTypeOf } from '../../base/media-type.js';
import { AppError, invalidField } from '../../contract/errors.js';
import type { CsvOptions, PrepareRequest } from '../../contract/prepare-messages.js';
import type { Context } from '../../service/context.js';
import { deleteDocument, getChunk, getChunkContent, getDocument } from '../../service/documents.js';
import { withFaultCode } from '../../service/fault-code.js';
import { ingestDocument } from '../../service/ingest-document.js';
import { listChunks, listDocuments, type Page, type Span } from '../../service/listings.js';
import { listingReply } from '../listing.js';
import type { Body, Handler, Reply } from '../route.js';
import { collectionOf, param } from './path.js';

export const postDocument =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const csv = csvOptions(request.query);
    const body = await ingestBody(request.body, csv);
    const startedAtMs = performance.now();
    const { docid, chunks, docid_taken, timing } = await withFaultCode('ingest_failed', () =>
      ingestDocument(context, tenant, collection, body, request),
    );
    return { status: 201, json: { tenant, collection, docid, chunks, docid_taken }, phases: { startedAtMs, timing } };
  };

async function ingestBody(body: Body, csv: CsvOptions): Promise<PrepareRequest['body']> {
  const type = mediaTypeOf(body.contentType);
  if (type === 'application/json') return { kind: 'json', bytes: await body.bytes() };
  if (type !== 'multipart/form-data')
    throw new AppError('unsupported_media_type', 'Ingest takes application/json or multipart/form-data.');
  const { fields, file } = await body.form();
  if (!file) throw new AppError('missing_document_file');
  return { kind: 'file', ...file, csv, docid: fields.get('docid') ?? '', metadata: fields.get('metadata') ?? '' };
}

/** What the lists name is known once the file is read; the worker checks them. */
function csvOptions(query: URLSearchParams): CsvOptions {
  const header = query.get('csv_has_header') || 'auto';
  if (header !== 'auto' && header !== 'yes' && header !== 'no')
    throw invalidField(
      ['query', 'csv_has_header'],
      'Should be auto, yes or no.',
      'literal_error',
      header.slice(0, 200),
    );
  return { header, metaColumns: query.get('csv_meta_cols') ?? '', includeColumns: query.get('csv_include_cols') ?? '' };
}

export const getDocuments =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const pages = (span: Span): AsyncGenerator<Page> => listDocuments(context, tenant, collection, span);
    return listingReply(request.query, { head: { tenant, collection }, field: 'documents', pages });
  };

export const getOneDocument =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const document = await getDocument(context, tenant, collection, param(request, 'docid'));
    return recordReply({ tenant, collection }, document);
  };

/** `record`: a JSON text, which is not parsed again. */
const recordReply = (head: object, record: string): Reply => ({
  status: 200,
  jsonParts: [`${JSON.stringify(head).slice(0, -1)},${record.slice(1, -1)}`],
});

export const removeDocument =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const docid = param(request, 'docid');
    const chunks = await deleteDocument(context, tenant, collection, docid);
    return { status: 200, json: { tenant, collection, docid, chunks_deleted: chunks } };
  };

export const getDocumentChunks =
  (context: Context): Handler =>
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

export const getOneChunk =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const chunk = await getChunk(context, tenant, collection, param(request, 'rid'));
    return recordReply({ tenant, collection }, chunk);
  };

export const getContent =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const text = await getChunkContent(context, tenant, collection, param(request, 'rid'));
    return { status: 200, bytes: Buffer.from(text), contentType: 'text/plain; charset=utf-8' };
  };
