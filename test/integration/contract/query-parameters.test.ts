// Query parameters that an operation does not have are rejected, as unknown fields of bodies are: a search that ignored
// its `filters` would find what they exclude.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../kit/server.js';

const docs = '/v1/collections/acme/docs';
const server = await startTestServer();
await server.call('POST', `${docs}/documents`, { docid: 'one', text: 'a submarine', metadata: { lang: 'en' } });

for (const path of [
  `${docs}/search?q=a&filters=${encodeURIComponent('{"lang":"fr"}')}`,
  `${docs}/search?q=a&v=1`,
  `${docs}/search?q=a&K=3`,
  '/v1/search?q=a&content_filter=x',
  `${docs}/documents?limits=3`,
  `${docs}/documents/one/chunks?offset=1`,
  `${docs}/queries?page=2`,
  `${docs}/detail?verbose=1`,
  '/v1/collections/acme?name=docs',
])
  test(`refused: ${path}`, async () => {
    const { status, json } = await server.call('GET', path);
    const name = [...new URLSearchParams(path.split('?')[1]).keys()].at(-1);
    assert.deepEqual([status, json.code], [422, 'validation_error']);
    assert.deepEqual(json.detail, [
      { loc: ['query', name], msg: 'There is no such parameter.', type: 'extra_forbidden' },
    ]);
  });

test('a write with one does nothing', async () => {
  assert.equal((await server.call('DELETE', `${docs}/documents/one?dry_run=true`)).status, 422);
  assert.equal((await server.call('GET', `${docs}/documents/one`)).status, 200);
});

test('parameters that there are, and any for pages', async () => {
  for (const path of [
    `${docs}/search?q=a&k=3&mode=hybrid&include_common=false`,
    `${docs}/documents?limit=3`,
    `${docs}/queries?limit=3&offset=0`,
    '/ui?tenant=acme&x=y',
    '/health?probe=1',
  ])
    assert.equal((await server.call('GET', path)).status, 200, path);
});
