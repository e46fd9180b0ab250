// What the specification and contract.md say about the shared scope and include_common, with the common collection
// enabled and disabled.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type Answer } from '../../kit/server.js';

const closed = await startTestServer();
const open = await startTestServer({ SHEAF_COMMON__ENABLED: 'true' });
for (const { call } of [closed, open]) {
  await call('POST', '/v1/collections/global/common/documents', {
    docid: 'SHARED',
    text: 'a document about lighthouses for all',
  });
  await call('POST', '/v1/collections/acme/own/documents', {
    docid: 'OWN',
    text: 'a document about lighthouses of our own',
  });
}
const docids = ({ json }: Answer): string[] =>
  (json.matches ?? []).map(({ meta }: { meta: { docid: string } }) => meta.docid).sort();
const own = '/v1/collections/acme/own/search';

test('without a common collection the shared scope is empty and include_common adds nothing', async () => {
  const shared = await closed.call('GET', '/v1/search?q=lighthouses');
  assert.deepEqual([shared.status, shared.json.matches], [200, []]);
  assert.deepEqual(docids(await closed.call('POST', '/v1/search', { q: 'lighthouses' })), []);
  assert.deepEqual(docids(await closed.call('POST', own, { q: 'lighthouses', include_common: true })), ['OWN']);
});

test('the shared scope searches the common collection, by GET and by POST', async () => {
  for (const answer of [
    await open.call('GET', '/v1/search?q=lighthouses&k=3&mode=vector'),
    await open.call('POST', '/v1/search', { q: 'lighthouses', k: 3 }),
  ]) {
    assert.deepEqual([answer.status, docids(answer)], [200, ['SHARED']]);
    assert.deepEqual([answer.json.matches[0].tenant, answer.json.matches[0].collection], ['global', 'common']);
  }
});

test('include_common adds its results, best first, by body and by query string; without it they stay out', async () => {
  const added = await open.call('POST', own, { q: 'lighthouses for all', include_common: true });
  assert.deepEqual(docids(added), ['OWN', 'SHARED']);
  assert.equal(added.json.matches[0].tenant, 'global');
  assert.deepEqual(docids(await open.call('GET', `${own}?q=lighthouses&include_common=true`)), ['OWN', 'SHARED']);
  assert.deepEqual(docids(await open.call('GET', `${own}?q=lighthouses&include_common=false`)), ['OWN']);
  assert.deepEqual(docids(await open.call('POST', own, { q: 'lighthouses' })), ['OWN']);
});

test('the shared scope takes no vector: 400 vector_query_not_allowed', async () => {
  const { status, json } = await open.call('POST', '/v1/search', { v: [1, 2, 3] });
  assert.deepEqual([status, json.code], [400, 'vector_query_not_allowed']);
});

test('a search of the shared scope is not in the log of its owner', async () => {
  await open.call('POST', '/v1/search', { q: 'a secret of the neighbour' });
  assert.equal((await open.call('GET', '/v1/collections/global/common/queries')).json.count, 0);
});

test('the log tells that the common collection was included', async () => {
  const { json } = await open.call('POST', own, { q: 'lighthouses', include_common: true });
  const { query } = (await open.call('GET', `/v1/collections/acme/own/queries/${json.query_id}`)).json;
  assert.deepEqual([query.include_common, query.common_tenant, query.common_collection], [true, 'global', 'common']);
});
