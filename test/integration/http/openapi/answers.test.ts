// The answers of a real server, checked against the OpenAPI document that it serves: the success of each operation, and
// client errors of every kind that can occur without load or faults.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpecJudge, type Spec } from '../../../kit/openapi.js';
import { fileForm, startTestServer, type Answer } from '../../../kit/server.js';

const DOCS = '/v1/collections/acme/docs';
const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS: '[{"name":"web","tenant":"acme","key":"acme-key"}]',
  SHEAF_LIMITS__MAX_FILE_BYTES: '2000000',
});
const judge = new SpecJudge((await server.call('GET', '/openapi.json')).json as unknown as Spec);

/** Makes the request and asserts that status, media type and body are what the document says about the operation. */
async function judged(
  operation: string,
  status: number,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = { authorization: 'Bearer acme-key' },
): Promise<Answer> {
  const answer = await server.call(method, path, body, headers);
  assert.equal(answer.status, status, `${operation}: ${answer.text}`);
  assert.deepEqual(
    judge.answerComplaints(operation, answer.status, answer.headers.get('content-type') ?? '', answer.json),
    [],
  );
  return answer;
}

test('successful answers fit the document', async () => {
  await judged('health', 200, 'GET', '/health', undefined, {});
  await judged('liveness', 200, 'GET', '/health/live', undefined, {});
  await judged('readiness', 200, 'GET', '/health/ready', undefined, {});
  await judged('createCollection', 201, 'POST', DOCS);
  await judged('createCollection', 201, 'POST', DOCS, {});
  await judged('updateCollection', 200, 'PATCH', DOCS, { display_name: 'Manuals' });
  await judged('updateCollection', 200, 'PATCH', DOCS, { synonyms: [{ words: ['nautilus'], to: ['submarine'] }] });
  await judged('ingestDocument', 201, 'POST', `${DOCS}/documents`, {
    docid: 'nemo',
    text: 'Captain Nemo commands the Nautilus.',
    metadata: { lang: 'en' },
  });
  await judged('ingestDocument', 201, 'POST', `${DOCS}/documents`, fileForm('a.txt', 'A file.'));
  await judged('listDocuments', 200, 'GET', `${DOCS}/documents`);
  await judged('getDocument', 200, 'GET', `${DOCS}/documents/nemo`);
  await judged('listChunks', 200, 'GET', `${DOCS}/documents/nemo/chunks`);
  await judged('getChunk', 200, 'GET', `${DOCS}/chunks/nemo::chunk_0`);
  await judged('getChunkContent', 200, 'GET', `${DOCS}/chunks/nemo::chunk_0/content`);
  const found = await judged('search', 200, 'POST', `${DOCS}/search`, { q: 'submarine captain', k: 3 });
  assert.equal(found.json.matches[0].id, 'nemo::chunk_0');
  await judged('searchByQuery', 200, 'GET', `${DOCS}/search?q=nemo&k=1`);
  await judged('getCollection', 200, 'GET', `${DOCS}/detail`);
  await judged('listCollections', 200, 'GET', '/v1/collections/acme');
  await judged('listTenants', 200, 'GET', '/v1/admin/tenants', undefined, { 'x-api-key': 'root' });
  await judged('sampleVectors', 200, 'GET', `${DOCS}/vectors?sample=10`);
  await judged('deleteDocument', 200, 'DELETE', `${DOCS}/documents/nemo`);
  await judged('moveCollection', 200, 'POST', `${DOCS}/move`, { new_name: 'manuals' });
  await judged(
    'moveCollectionAsAdmin',
    200,
    'POST',
    '/v1/admin/collections/acme/manuals/move',
    { new_name: 'docs' },
    { 'x-api-key': 'root' },
  );
  await judged('deleteCollection', 200, 'DELETE', DOCS);
  await judged('openApi', 200, 'GET', '/openapi.json', undefined, {});
  await judged('docs', 200, 'GET', '/docs', undefined, {});
  await judged('console', 200, 'GET', '/ui', undefined, {});
  const agent = { authorization: 'Bearer acme-key', accept: 'application/json, text/event-stream' };
  await judged('mcp', 200, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, agent);
  await judged('mcp', 202, 'POST', '/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, agent);
  await judged('docsFile', 200, 'GET', '/docs/swagger-ui.css', undefined, {});
  await judged('docsFile', 200, 'GET', '/docs/index', undefined, {});
  await judged('docsPage', 200, 'GET', '/docs/guide/quickstart', undefined, {});
});

test('client errors fit the document', async () => {
  await judged('listDocuments', 401, 'GET', `${DOCS}/documents`, undefined, {});
  await judged('listDocuments', 403, 'GET', '/v1/collections/globex/docs/documents');
  await judged('listTenants', 403, 'GET', '/v1/admin/tenants');
  await judged('getCollection', 404, 'GET', `${DOCS}/detail`);
  await judged('getCollection', 422, 'GET', '/v1/collections/acme/%zz/detail');
  await judged('getDocument', 404, 'GET', `${DOCS}/documents/none`);
  await judged('getChunk', 404, 'GET', `${DOCS}/chunks/none`);
  await judged('search', 422, 'POST', `${DOCS}/search`, { q: 'x', k: 0 });
  await judged('search', 422, 'POST', `${DOCS}/search`, 'not JSON');
  await judged('search', 422, 'POST', '/v1/collections/acme/-/search', { q: 'x' });
  await judged('searchByQuery', 422, 'GET', `${DOCS}/search`);
  await judged('createCollection', 400, 'POST', '/v1/collections/acme/-');
  await judged('createCollection', 400, 'POST', DOCS, 'not JSON');
  await judged('createCollection', 422, 'POST', DOCS, { more: 1 });
  await judged('ingestDocument', 400, 'POST', `${DOCS}/documents`, { text: ' ' });
  await judged('ingestDocument', 413, 'POST', `${DOCS}/documents`, { text: 'x'.repeat(2_000_000) });
  const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const agent = { authorization: 'Bearer acme-key', accept: 'application/json, text/event-stream' };
  await judged('mcp', 400, 'POST', '/mcp', { hello: 1 }, agent);
  await judged('mcp', 400, 'POST', '/mcp', 'not JSON', agent);
  await judged('mcp', 406, 'POST', '/mcp', message, { ...agent, accept: 'application/json' });
  await judged('mcp', 415, 'POST', '/mcp', message, { ...agent, 'content-type': 'text/plain' });
  await judged('docsFile', 404, 'GET', '/docs/package.json', undefined, {});
  await judged('docsPage', 404, 'GET', '/docs/guide/none', undefined, {});
});

test('the document is made once, and known by its tag', async () => {
  const first = await server.call('GET', '/openapi.json');
  const etag = first.headers.get('etag') ?? '';
  assert.match(etag, /^W\/"[\w-]{22}"$/);
  const second = await server.call('GET', '/openapi.json', undefined, { 'if-none-match': `"other", ${etag}` });
  assert.equal(second.status, 304);
  assert.equal(second.text, '');
  assert.equal((await server.call('GET', '/openapi.json', undefined, { 'if-none-match': '"other"' })).status, 200);
});
