// The rows of "Documents and chunks" in the specification.
import { ANSWERS } from '../shapes.js';
import { type Compose, type Endpoint, NO_SLUG, READ, READ_ONE } from '../endpoint.js';

const DOCUMENTS = '/v1/collections/{tenant}/{collection}/documents';
const CHUNKS = '/v1/collections/{tenant}/{collection}/chunks';
const INGEST = [400, 401, 403, 413, 422, 429, 500, 503];
const LARGE = 'word '.repeat(400);

const at =
  (collection: string, rest: string, body?: unknown): Compose =>
  ({ tenant }) => ({
    path: `/v1/collections/${tenant}/${collection}/${rest}`,
    ...(body === undefined ? {} : { body }),
  });
const here =
  (rest: string, body?: unknown): Compose =>
  (scene) =>
    at(scene.collection, rest, body)(scene);
const document =
  (rest = ''): Compose =>
  (scene) =>
    here(`documents/${scene.docid}${rest}`)(scene);
const chunk =
  (rest = ''): Compose =>
  (scene) =>
    here(`chunks/${encodeURIComponent(scene.rid)}${rest}`)(scene);

export const DOCUMENT_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: DOCUMENTS,
    access: 'tenant',
    success: 200,
    others: READ,
    answer: ANSWERS.documents,
    valid: here('documents'),
    provoke: { 422: at(NO_SLUG, 'documents') },
  },
  {
    method: 'POST',
    path: DOCUMENTS,
    access: 'tenant',
    success: 201,
    others: INGEST,
    answer: ANSWERS.ingested,
    valid: here('documents', { docid: 'WRITTEN', text: 'written by a test', metadata: { n: 1 } }),
    provoke: {
      400: here('documents', { docid: 'EMPTY', text: ' ' }),
      413: here('documents', { docid: 'LARGE', text: LARGE }),
      422: at('vectors', 'documents', { docid: 'ZERO', vector: [0, 0, 0] }),
    },
  },
  {
    method: 'GET',
    path: `${DOCUMENTS}/{docid}`,
    access: 'tenant',
    success: 200,
    others: READ_ONE,
    answer: ANSWERS.document,
    valid: document(),
    provoke: { 404: here('documents/NONE'), 422: at(NO_SLUG, 'documents/DOC') },
  },
  {
    method: 'DELETE',
    path: `${DOCUMENTS}/{docid}`,
    access: 'tenant',
    success: 200,
    others: READ,
    answer: ANSWERS.documentDeleted,
    valid: here('documents/NONE'),
    provoke: { 422: at(NO_SLUG, 'documents/DOC') },
  },
  {
    method: 'GET',
    path: `${DOCUMENTS}/{docid}/chunks`,
    access: 'tenant',
    success: 200,
    others: READ,
    answer: ANSWERS.chunks,
    valid: document('/chunks'),
    provoke: { 422: at(NO_SLUG, 'documents/DOC/chunks') },
  },
  {
    method: 'POST',
    path: `${DOCUMENTS}:batch`,
    access: 'tenant',
    success: 201,
    others: INGEST,
    answer: ANSWERS.batch,
    valid: here('documents:batch', { documents: [{ docid: 'BATCHED', text: 'one of a batch' }, { text: '' }] }),
    provoke: {
      400: here('documents:batch', '{"documents": ['),
      413: here('documents:batch', { documents: [{ text: LARGE }] }),
      422: here('documents:batch', { documents: [] }),
    },
  },
  {
    method: 'GET',
    path: `${CHUNKS}/{rid}`,
    access: 'tenant',
    success: 200,
    others: READ_ONE,
    answer: ANSWERS.chunk,
    valid: chunk(),
    provoke: { 404: here('chunks/NONE::chunk_0'), 422: at(NO_SLUG, 'chunks/DOC::chunk_0') },
  },
  {
    method: 'GET',
    path: `${CHUNKS}/{rid}/content`,
    access: 'tenant',
    success: 200,
    others: READ_ONE,
    answer: 'text/plain',
    valid: chunk('/content'),
    provoke: { 404: here('chunks/NONE::chunk_0/content'), 422: at(NO_SLUG, 'chunks/DOC::chunk_0/content') },
  },
];
