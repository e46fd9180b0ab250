// What a key of each scope may do, endpoint by endpoint, over a real socket; no endpoint is left out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCOPES, type Scope } from '../../../src/api/choices.js';
import { createRoutes } from '../../../src/http/routes.js';
import { startTestServer } from '../../kit/server.js';

const keys = SCOPES.map((scope) => `{name: ${scope}, tenant: acme, key: key-${scope}, scopes: [${scope}]}`);
const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS: `[${keys.join(', ')}]`,
});

/**
 * By operation, the one scope that permits it; `any`: every scope does; null: only the admin key does. The scope in the
 * route's definition applies where an operation is not listed.
 */
const WANTED: Readonly<Record<string, Scope | 'any' | null>> = {
  whoami: 'any',
  listCollections: 'search',
  getCollection: 'search',
  createCollection: 'manage',
  updateCollection: 'manage',
  deleteCollection: 'manage',
  moveCollection: 'manage',
  listDocuments: 'search',
  getDocument: 'search',
  listChunks: 'search',
  getChunk: 'search',
  getChunkContent: 'search',
  ingestDocument: 'ingest',
  ingestBatch: 'ingest',
  deleteDocument: 'ingest',
  search: 'search',
  searchBatch: 'search',
  searchCollections: 'search',
  listJudgementSets: 'search',
  getJudgementSet: 'search',
  putJudgementSet: 'manage',
  deleteJudgementSet: 'manage',
  searchByQuery: 'search',
  searchShared: 'search',
  searchSharedByQuery: 'search',
  countChunks: 'search',
  measureRecall: 'search',
  sampleVectors: 'search',
  listQueries: 'manage',
  getQuery: 'manage',
  replayQuery: 'manage',
  dumpCollectionArchive: 'manage',
  restoreCollectionArchive: 'manage',
  replaceCollectionArchive: 'manage',
  startReindex: 'manage',
  listReindexJobs: 'search',
  getReindexJob: 'search',
  cancelReindex: 'manage',
  rollBack: 'manage',
  collectionEvents: 'search',
  listEmbedders: 'search',
  createEmbeddings: 'search',
  // The routes behind its tools check the scope.
  mcp: 'any',
  metrics: null,
  metricsJson: null,
};

const routes = createRoutes(server.services).filter(({ access }) => access !== 'public');
const values: Readonly<Record<string, string>> = { tenant: 'acme', query_id: 'none', job_id: 'none' };

test('every operation of a tenant names its scope, and those that are listed the one that is listed', () => {
  for (const { operation, access, scope } of routes)
    if (access === 'tenant') assert.equal(scope, WANTED[operation] ?? scope ?? 'none', operation);
  for (const listed of Object.keys(WANTED))
    assert.ok(
      routes.some(({ operation, access }) => operation === listed && access !== 'admin'),
      `${listed} is gone`,
    );
});

for (const { operation, method, path, access, scope } of routes)
  test(`${method} ${path}: ${operation}`, async () => {
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'missing');
    const wanted = access === 'admin' ? null : operation in WANTED ? WANTED[operation] : scope;
    for (const scope of SCOPES) {
      const status = await statusOf(method, address, scope);
      const isAllowed = wanted === 'any' || wanted === scope;
      assert.equal(status !== 403, isAllowed, `${scope}: ${status}`);
      assert.notEqual(status, 401);
    }
  });

/** The status of an answer that may not end: a stream of events is closed. */
async function statusOf(method: string, address: string, scope: Scope): Promise<number> {
  const response = await fetch(server.url + address, {
    method,
    headers: { authorization: `Bearer key-${scope}`, 'content-type': 'application/json' },
    ...(method !== 'GET' && { body: '{}' }),
  });
  await response.body?.cancel();
  return response.status;
}

test('a key that may only search reads no search of anybody, and replays none', async () => {
  const as = (key: string) => ({ authorization: `Bearer ${key}` });
  const at = '/v1/collections/acme/docs';
  await server.call('POST', `${at}/documents`, { text: 'Captain Nemo.' }, as('key-ingest'));
  const { json } = await server.call('POST', `${at}/search`, { q: 'a secret of the admin' }, as('root'));
  for (const [method, path] of [
    ['GET', 'queries'],
    ['GET', `queries/${json.query_id}`],
    ['POST', `queries/${json.query_id}/replay`],
  ] as const) {
    const { status, text } = await server.call(method, `${at}/${path}`, undefined, as('key-search'));
    assert.deepEqual([status, text.includes('secret')], [403, false], path);
    assert.equal((await server.call(method, `${at}/${path}`, undefined, as('key-manage'))).status, 200, path);
  }
  assert.deepEqual(server.faults, []);
});
