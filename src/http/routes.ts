// The route table: every endpoint with who may call it, what its body may be, which statuses it answers, and its handler.
// It drives routing, authentication, limits and error statuses; the statuses are the specification's.
import type { Context } from '../service/context.js';
import { getCollectionDetail, listCollections, listTenants, moveCollection, patchCollection, postCollection, removeCollection } from './endpoints/collections.js';
import { getContent, getDocumentChunks, getDocuments, getOneChunk, getOneDocument, postDocument, removeDocument } from './endpoints/documents.js';
import { getHealth, getLive, getReady } from './endpoints/health.js';
import { getSearch, postSearch } from './endpoints/search.js';
import type { Handler, Route } from './route.js';

const READ = [200, 401, 403, 422, 429, 500];
const READ_ONE = [200, 401, 403, 404, 422, 429, 500];
const SEARCH = [200, 401, 403, 422, 429, 500, 503];

const COLLECTION = '/v1/collections/{tenant}/{name}';
const DOCUMENTS = '/v1/collections/{tenant}/{collection}/documents';
const CHUNKS = '/v1/collections/{tenant}/{collection}/chunks';

export function createRoutes(context: Context): Route[] {
  return [...healthRoutes(context), ...adminRoutes(context), ...collectionRoutes(context), ...documentRoutes(context)];
}

function healthRoutes(context: Context): Route[] {
  return [
    open('/health', [200], getHealth(context)),
    open('/health/live', [200], getLive),
    open('/health/ready', [200, 503], getReady(context)),
  ];
}

function adminRoutes(context: Context): Route[] {
  return [
    { ...get('/v1/admin/tenants', [200, 401, 403, 500], listTenants(context)), access: 'admin' },
    { ...post('/v1/admin/collections/{tenant}/{name}/move', [200, 400, 401, 403, 404, 409, 422, 500], moveCollection(context)), access: 'admin' },
  ];
}

function collectionRoutes(context: Context): Route[] {
  return [
    get('/v1/collections/{tenant}', READ, listCollections(context)),
    post(COLLECTION, [201, 400, 401, 403, 422, 429, 500, 503], postCollection(context)),
    { ...post(COLLECTION, [200, 400, 401, 403, 404, 422, 429, 500], patchCollection(context)), method: 'PATCH' },
    remove(COLLECTION, [200, 400, 401, 403, 404, 422, 429, 500], removeCollection(context)),
    get(`${COLLECTION}/detail`, READ_ONE, getCollectionDetail(context)),
    post(`${COLLECTION}/move`, [200, 400, 401, 403, 404, 409, 422, 429, 500], moveCollection(context)),
    get(`${COLLECTION}/search`, SEARCH, getSearch(context)),
    post(`${COLLECTION}/search`, SEARCH, postSearch(context)),
  ];
}

function documentRoutes(context: Context): Route[] {
  return [
    get(DOCUMENTS, READ, getDocuments(context)),
    { ...post(DOCUMENTS, [201, 400, 401, 403, 413, 422, 429, 500, 503], postDocument(context)), body: 'document' },
    get(`${DOCUMENTS}/{docid}`, READ_ONE, getOneDocument(context)),
    remove(`${DOCUMENTS}/{docid}`, READ, removeDocument(context)),
    get(`${DOCUMENTS}/{docid}/chunks`, READ, getDocumentChunks(context)),
    get(`${CHUNKS}/{rid}`, READ_ONE, getOneChunk(context)),
    get(`${CHUNKS}/{rid}/content`, READ_ONE, getContent(context)),
  ];
}

function open(path: string, statuses: readonly number[], handle: Handler): Route {
  return { method: 'GET', path, access: 'public', statuses, body: 'none', handle };
}

function get(path: string, statuses: readonly number[], handle: Handler): Route {
  return { method: 'GET', path, access: 'tenant', statuses, body: 'none', handle };
}

function remove(path: string, statuses: readonly number[], handle: Handler): Route {
  return { method: 'DELETE', path, access: 'tenant', statuses, body: 'none', handle };
}

function post(path: string, statuses: readonly number[], handle: Handler): Route {
  return { method: 'POST', path, access: 'tenant', statuses, body: 'json', handle };
}
