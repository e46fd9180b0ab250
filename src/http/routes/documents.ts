// The lines of the route table for documents and chunks.
// Called by ../routes.ts.
import type { Context } from '../../service/context.js';
import {
  getContent,
  getDocumentChunks,
  getDocuments,
  getOneChunk,
  getOneDocument,
  postDocument,
  removeDocument,
} from '../endpoints/documents.js';
import type { Route } from '../route.js';
import { get, post, READ, READ_ONE, remove } from './kit.js';

const DOCUMENTS = '/v1/collections/{tenant}/{collection}/documents';
const CHUNKS = '/v1/collections/{tenant}/{collection}/chunks';

export function documentRoutes(context: Context): Route[] {
  return [
    get('listDocuments', DOCUMENTS, READ, getDocuments(context)),
    {
      ...post('ingestDocument', DOCUMENTS, [201, 400, 401, 403, 413, 422, 429, 500, 503], postDocument(context)),
      body: 'document',
      scope: 'ingest',
    },
    get('getDocument', `${DOCUMENTS}/{docid}`, READ_ONE, getOneDocument(context)),
    { ...remove('deleteDocument', `${DOCUMENTS}/{docid}`, READ, removeDocument(context)), scope: 'ingest' },
    get('listChunks', `${DOCUMENTS}/{docid}/chunks`, READ, getDocumentChunks(context)),
    get('getChunk', `${CHUNKS}/{rid}`, READ_ONE, getOneChunk(context)),
    get('getChunkContent', `${CHUNKS}/{rid}/content`, READ_ONE, getContent(context)),
  ];
}
