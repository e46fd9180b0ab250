// What the specification and contract.md say about the query log and replay, a named test for each sentence.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, startTestServer } from '../../kit/server.js';

const { call } = await startTestServer();
const base = '/v1/collections/rules';
const silent = await startTestServer({ SHEAF_QUERY_LOG__ENABLED: 'false' });

await call('POST', `${base}/docs/documents`, {
  docid: 'A',
  text: 'the captain of the submarine',
  metadata: { lang: 'en' },
});
await call('POST', `${base}/docs/documents`, {
  docid: 'B',
  text: 'the crew of the submarine',
  metadata: { lang: 'en' },
});

test('an entry has what was asked, by whom, when, and what came, in rank order', async () => {
  const asked = {
    q: 'captain',
    k: 2,
    mode: 'hybrid',
    filters: { lang: 'en' },
    content_filter: { op: 'contains', value: 'submarine' },
  };
  const { json } = await call('POST', `${base}/docs/search`, asked, { 'x-request-id': 'the-original' });
  const { query } = (await call('GET', `${base}/docs/queries/${json.query_id}`)).json;
  assert.deepEqual(
    [query.query_id, query.tenant, query.collection, query.actor, query.request_id],
    [json.query_id, 'rules', 'docs', 'anonymous', 'the-original'],
  );
  assert.deepEqual(
    [query.query_text, query.k, query.mode, query.filters, query.content_filter],
    ['captain', 2, 'hybrid', asked.filters, asked.content_filter],
  );
  assert.deepEqual([query.result_count, query.result_ids], [2, json.matches.map(({ id }: { id: string }) => id)]);
  assert.ok(query.latency_ms >= 0 && query.timing.search_ms >= 0 && !('replay_of' in query));
});

test('the admin finds a search of any tenant by its id', async () => {
  const { json } = await call('GET', `${base}/docs/search?q=crew`);
  assert.equal((await call('GET', `/v1/admin/queries/${json.query_id}`)).json.query.tenant, 'rules');
});

test('a listing has the most recent first, without results, paged by limit and offset', async () => {
  for (let i = 0; i < 5; i++) await call('GET', `${base}/paged/search?q=none&k=1`);
  await call('POST', `${base}/paged/documents`, { text: 'paged' });
  for (let i = 0; i < 5; i++) await call('GET', `${base}/paged/search?q=query+${i}`);
  const texts = async (query: string): Promise<string[]> =>
    (await call('GET', `${base}/paged/queries${query}`)).json.queries.map(
      ({ query_text }: { query_text: string }) => query_text,
    );
  assert.deepEqual(
    await texts(''),
    [4, 3, 2, 1, 0].map((i) => `query ${i}`),
  );
  assert.deepEqual(await texts('?limit=2&offset=1'), ['query 3', 'query 2']);
  assert.deepEqual(await texts('?offset=9'), []);
  const [summary] = (await call('GET', `${base}/paged/queries?limit=1`)).json.queries;
  assert.ok(!('result_ids' in summary) && !('matches' in summary) && summary.result_count === 1);
});

test('limit is 1 to 500 and offset 0 or more, else 422', async () => {
  for (const query of ['limit=0', 'limit=501', 'limit=x', 'limit=1.5', 'offset=-1', 'offset=x'])
    await refused(call('GET', `${base}/docs/queries?${query}`), 422, 'validation_error');
  assert.equal((await call('GET', `${base}/docs/queries?limit=500&offset=0`)).status, 200);
});

test("a replay asks today's data with the original mode, filters and k, and is logged with replay_of", async () => {
  const { json: original } = await call('POST', `${base}/docs/search`, {
    q: 'captain',
    k: 1,
    mode: 'boost',
    filters: { lang: 'en' },
  });
  await call('POST', `${base}/docs/documents`, { docid: 'AA', text: 'captain captain', metadata: { lang: 'en' } });
  const { status, json } = await call('POST', `${base}/docs/queries/${original.query_id}/replay`);
  assert.deepEqual(
    [status, json.original_query_id, json.original_result_count, json.mode, json.matches.length],
    [200, original.query_id, 1, 'boost', 1],
  );
  assert.equal(json.matches[0].meta.docid, 'AA');
  assert.ok(json.original_latency_ms >= 0);
  const { query } = (await call('GET', `${base}/docs/queries/${json.replay_query_id}`)).json;
  assert.deepEqual(
    [query.replay_of, query.query_text, query.k, query.mode, query.filters],
    [original.query_id, 'captain', 1, 'boost', { lang: 'en' }],
  );
  const [latest] = (await call('GET', `${base}/docs/queries?limit=1`)).json.queries;
  assert.deepEqual([latest.query_id, latest.replay_of], [json.replay_query_id, original.query_id]);
});

test('a search by vector can be replayed, by the admin too', async () => {
  await call('POST', `${base}/vectors`, { embedder_type: 'identity', embedder_config: { dim: 2 } });
  for (const [docid, vector] of [
    ['EAST', [1, 0]],
    ['NORTH', [0, 1]],
  ] as const)
    await call('POST', `${base}/vectors/documents`, { docid, vector });
  const { json } = await call('POST', `${base}/vectors/search`, { v: [0, 2], k: 1 });
  for (const path of [`${base}/vectors/queries/${json.query_id}/replay`, `/v1/admin/queries/${json.query_id}/replay`]) {
    const replay = (await call('POST', path)).json;
    assert.deepEqual(replay.matches, json.matches, path);
  }
});

test('a search of another collection or tenant is query_not_found, to read and to replay', async () => {
  const { json } = await call('GET', `${base}/docs/search?q=captain`);
  for (const collection of [`${base}/paged`, `${base}/none`, '/v1/collections/others/docs']) {
    await refused(call('GET', `${collection}/queries/${json.query_id}`), 404, 'query_not_found');
    await refused(call('POST', `${collection}/queries/${json.query_id}/replay`), 404, 'query_not_found');
  }
});

test('the log moves along with a rename, and goes with the collection', async () => {
  await call('POST', `${base}/moving/documents`, { text: 'moving' });
  const { json } = await call('GET', `${base}/moving/search?q=moving`);
  await call('POST', `${base}/moving/move`, { new_name: 'moved' });
  assert.equal((await call('GET', `${base}/moved/queries/${json.query_id}`)).json.query.query_text, 'moving');
  await call('DELETE', `${base}/moved`);
  await call('POST', `${base}/moved`);
  await refused(call('GET', `${base}/moved/queries/${json.query_id}`), 404, 'query_not_found');
});

test('with the log switched off there is no query_id, and the listing is empty', async () => {
  await silent.call('POST', `${base}/docs/documents`, { text: 'unlogged' });
  const { status, json } = await silent.call('GET', `${base}/docs/search?q=unlogged`);
  assert.deepEqual([status, json.matches.length, 'query_id' in json], [200, 1, false]);
  assert.deepEqual((await silent.call('GET', `${base}/docs/queries`)).json.queries, []);
});
