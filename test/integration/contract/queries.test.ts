// The query log over a real socket: the contents of an entry, listing, finding, replay, in the tenant's form and the
// admin's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const { call } = server;
const docs = '/v1/collections/acme/docs';
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UNKNOWN = '01a1fd3e-fa54-7702-8c4d-b6b9e71fa897';

await call('POST', `${docs}/documents`, { docid: 'NEMO', text: 'Captain Nemo commands the Nautilus.' });
await call('POST', `${docs}/documents`, { docid: 'BREAD', text: 'Knead the dough and let it rise.' });

test('a client that asks for its query right after the answer finds every field', async () => {
  const { json: found } = await call(
    'POST',
    `${docs}/search`,
    { q: 'submarine captain', k: 2 },
    { 'x-request-id': 'req-1' },
  );
  assert.match(found.query_id, UUID7);
  const { status, json } = await call('GET', `${docs}/queries/${found.query_id}`);
  assert.deepEqual([status, Object.keys(json).sort()], [200, ['latency_ms', 'ok', 'query', 'request_id']]);
  const { executed_at: at, latency_ms: ms, timing, ...rest } = json.query;
  assert.deepEqual(rest, {
    query_id: found.query_id,
    tenant: 'acme',
    collection: 'docs',
    actor: 'anonymous',
    query_text: 'submarine captain',
    k: 2,
    result_count: 2,
    result_ids: found.matches.map(({ id }: { id: string }) => id),
    mode: 'vector',
    request_id: 'req-1',
  });
  assert.match(at, ISO);
  assert.ok(ms > 0);
  assert.deepEqual(timing, found.timing);
});

test('ids of chunks come back as they are, whatever is in them', async () => {
  const docid = 'a"b\\c,"score":é/%';
  await call('POST', '/v1/collections/acme/odd/documents', { docid, text: 'an odd name' });
  const { json: found } = await call('GET', '/v1/collections/acme/odd/search?q=odd+name');
  const { json } = await call('GET', `/v1/collections/acme/odd/queries/${found.query_id}`);
  assert.deepEqual(json.query.result_ids, [`${docid}::chunk_0`]);
});

test('the listing has the searches that are asked for, by their words, mode and caller', async () => {
  const base = '/v1/collections/acme/wanted';
  await call('POST', `${base}/documents`, { text: 'one two three' });
  for (let i = 0; i < 30; i++)
    await call('POST', `${base}/search`, {
      q: i % 3 === 0 ? `Whale ${i}` : `bread ${i}`,
      mode: i % 2 ? 'hybrid' : 'vector',
    });
  const listed = async (parameters: string): Promise<[string[], string | undefined]> => {
    const { status, json } = await call('GET', `${base}/queries?${parameters}`);
    assert.equal(status, 200, JSON.stringify(json));
    return [json.queries.map(({ query_text: text }: { query_text: string }) => text), json.next_cursor];
  };
  const whales = [27, 24, 21, 18, 15, 12, 9, 6, 3, 0].map((i) => `Whale ${i}`);
  assert.deepEqual((await listed('q=whale'))[0], whales);
  assert.deepEqual((await listed('q=WHALE+2&mode=hybrid'))[0], ['Whale 27', 'Whale 21']);
  assert.deepEqual((await listed('q=whale&offset=8'))[0], whales.slice(8));
  assert.equal((await listed('actor=anonymous&limit=100'))[0].length, 30);
  assert.deepEqual(await listed('actor=nobody&limit=10'), [[], undefined]);
  const [first, cursor] = await listed('q=whale&limit=4');
  assert.deepEqual(first, whales.slice(0, 4));
  assert.deepEqual((await listed(`q=whale&limit=9&cursor=${cursor}`))[0], whales.slice(4));
  const { json } = await call('GET', `${base}/queries?limit=1`);
  assert.deepEqual([json.queries[0].mode, json.queries[0].actor], ['hybrid', 'anonymous']);
  for (const wrong of ['mode=words', 'q=', 'actor='])
    assert.equal((await call('GET', `${base}/queries?${wrong}`)).status, 422, wrong);
});

test('the listing is newest first, in pages by offset and by cursor', async () => {
  const base = '/v1/collections/acme/paged';
  await call('POST', `${base}/documents`, { text: 'one two three' });
  for (let i = 0; i < 60; i++) await call('GET', `${base}/search?q=query+${i}`);
  const texts = (json: Record<string, any>): string[] =>
    json.queries.map(({ query_text: text }: { query_text: string }) => text);
  const all = Array.from({ length: 60 }, (_, i) => `query ${59 - i}`);
  const { json: first } = await call('GET', `${base}/queries`);
  assert.deepEqual(
    [first.tenant, first.collection, first.count, texts(first)],
    ['acme', 'paged', 50, all.slice(0, 50)],
  );
  assert.deepEqual(Object.keys(first.queries[0]).sort(), [
    'actor',
    'executed_at',
    'k',
    'latency_ms',
    'mode',
    'query_id',
    'query_text',
    'request_id',
    'result_count',
  ]);
  assert.ok(!('next_cursor' in first), 'without a limit, as the specification says');
  const { json: skipped } = await call('GET', `${base}/queries?limit=7&offset=55`);
  assert.deepEqual([texts(skipped), 'next_cursor' in skipped], [all.slice(55), false]);
  const { json: beyond } = await call('GET', `${base}/queries?offset=1000`);
  assert.deepEqual([beyond.count, beyond.queries], [0, []]);
  const pages: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await call('GET', `${base}/queries?limit=25${cursor && `&cursor=${cursor}`}`);
    pages.push(...texts(json));
    if (json.next_cursor === undefined) break;
    cursor = json.next_cursor;
  }
  assert.deepEqual(pages, all);
  for (const bad of [
    'limit=0',
    'limit=501',
    'limit=-1',
    'limit=1.5',
    'limit=ten',
    'limit=',
    'offset=-1',
    'offset=x',
    'cursor=zzz',
  ]) {
    await refused(call('GET', `${base}/queries?${bad}`), 422, 'validation_error');
  }
  assert.equal((await call('GET', `${base}/queries?limit=500&offset=0`)).json.count, 60);
});

test('a search in a missing collection leaves nothing, and its log is empty', async () => {
  const { status, json } = await call('GET', '/v1/collections/acme/none/search?q=x');
  assert.deepEqual([status, json.matches, 'query_id' in json], [200, [], false]);
  const { json: log } = await call('GET', '/v1/collections/acme/none/queries');
  assert.deepEqual([log.queries, log.count], [[], 0]);
  assert.equal((await call('GET', '/v1/admin/tenants')).json.tenants.includes('none'), false);
});

test('a search that fails is not logged', async () => {
  const { json: before } = await call('GET', `${docs}/queries?limit=500`);
  await refused(call('POST', `${docs}/search`, { v: [1, 2] }), 422, 'dim_mismatch');
  assert.equal((await call('GET', `${docs}/queries?limit=500`)).json.count, before.count);
});

test('an id of another collection, another tenant, none or a bad one: query_not_found', async () => {
  await call('POST', '/v1/collections/other/docs', {});
  await call('POST', '/v1/collections/acme/second', {});
  const { json: found } = await call('GET', `${docs}/search?q=captain`);
  const foreign = ['/v1/collections/other/docs', '/v1/collections/acme/second', '/v1/collections/acme/none'].map(
    (base) => `${base}/queries/${found.query_id}`,
  );
  for (const path of [
    ...foreign,
    `${docs}/queries/${UNKNOWN}`,
    `${docs}/queries/nonsense`,
    `/v1/admin/queries/${UNKNOWN}`,
    '/v1/admin/queries/nonsense',
  ]) {
    await refused(call('GET', path), 404, 'query_not_found');
    await refused(call('POST', `${path}/replay`), 404, 'query_not_found');
  }
  await refused(call('GET', `/v1/collections/acme/-bad/queries/${UNKNOWN}`), 422, 'invalid_collection_name');
  assert.equal((await call('GET', `${docs}/queries/${found.query_id.toUpperCase()}`)).status, 200);
});

test('a replay runs on the data of today, and is an entry of its own', async () => {
  const base = '/v1/collections/acme/replay';
  await call('POST', `${base}/documents`, { docid: 'OLD', text: 'the captain of a submarine' });
  const { json: original } = await call('POST', `${base}/search`, { q: 'submarine', k: 3 });
  await call('POST', `${base}/documents`, { docid: 'NEW', text: 'submarine' });
  const { status, json } = await call('POST', `${base}/queries/${original.query_id}/replay`, undefined, {
    'x-request-id': 'again',
  });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(json).sort(), [
    'latency_ms',
    'matches',
    'mode',
    'ok',
    'original_latency_ms',
    'original_query_id',
    'original_result_count',
    'replay_query_id',
    'request_id',
    'timing',
  ]);
  assert.deepEqual([json.original_query_id, json.original_result_count, json.mode], [original.query_id, 1, 'vector']);
  assert.deepEqual(json.matches.map(({ id }: { id: string }) => id).sort(), ['NEW::chunk_0', 'OLD::chunk_0']);
  const { json: entry } = await call('GET', `${base}/queries/${json.replay_query_id}`);
  assert.deepEqual(
    [entry.query.replay_of, entry.query.k, entry.query.query_text, entry.query.request_id],
    [original.query_id, 3, 'submarine', 'again'],
  );
  assert.equal((await call('GET', `${base}/queries`)).json.queries[0].replay_of, original.query_id);
  const { json: asAdmin } = await call('POST', `/v1/admin/queries/${json.replay_query_id}/replay`);
  assert.deepEqual([asAdmin.original_query_id, asAdmin.matches.length], [json.replay_query_id, 2]);
});

test('a search by vector is logged with its vector, and so can be replayed', async () => {
  const base = '/v1/collections/acme/vectors';
  await call('POST', base, { embedder_type: 'identity', embedder_config: { dim: 3 } });
  for (const [docid, vector] of Object.entries({ X: [1, 0, 0], Y: [0, 1, 0], Z: [0.5, 0.5, 0.1] }))
    await call('POST', `${base}/documents`, { docid, vector });
  const { json: original } = await call('POST', `${base}/search`, { v: [0.3, 0.9, -0.1], k: 3 });
  const { json } = await call('POST', `${base}/queries/${original.query_id}/replay`);
  assert.deepEqual(json.matches, original.matches);
  const { json: entry } = await call('GET', `/v1/admin/queries/${original.query_id}`);
  assert.equal(entry.query.query_text, '');
  assert.ok(!('vector' in entry.query) && !('v' in entry.query));
});

test('a renamed collection keeps its log; a dropped one has none, and its successor begins anew', async () => {
  await call('POST', '/v1/collections/acme/before/documents', { text: 'to be renamed' });
  const { json: found } = await call('GET', '/v1/collections/acme/before/search?q=renamed');
  await call('POST', '/v1/collections/acme/before/move', { new_name: 'after' });
  await refused(call('GET', `/v1/collections/acme/before/queries/${found.query_id}`), 404, 'query_not_found');
  const { json } = await call('GET', `/v1/collections/acme/after/queries/${found.query_id}`);
  assert.deepEqual([json.query.collection, json.query.query_text], ['after', 'renamed']);
  assert.equal((await call('GET', `/v1/admin/queries/${found.query_id}`)).json.query.collection, 'after');
  await call('DELETE', '/v1/collections/acme/after');
  await refused(call('GET', `/v1/admin/queries/${found.query_id}`), 404, 'query_not_found');
  await call('POST', '/v1/collections/acme/after', {});
  assert.equal((await call('GET', '/v1/collections/acme/after/queries')).json.count, 0);
});

test('searches at the same time as reads of the log: every one is found, in order', async () => {
  const base = '/v1/collections/acme/busy';
  await call('POST', `${base}/documents`, { text: 'busy' });
  const seen: string[] = [];
  const searcher = async (): Promise<void> => {
    for (let i = 0; i < 40; i++) {
      const { json } = await call('GET', `${base}/search?q=busy`);
      seen.push(json.query_id);
      assert.equal((await call('GET', `${base}/queries/${json.query_id}`)).json.query?.query_id, json.query_id);
    }
  };
  await Promise.all([searcher(), searcher(), searcher(), searcher()]);
  const { json } = await call('GET', `${base}/queries?limit=500`);
  const listed: string[] = json.queries.map(({ query_id: id }: { query_id: string }) => id);
  assert.deepEqual(listed, [...listed].sort().reverse());
  assert.deepEqual([...listed].sort(), [...seen].sort());
  assert.deepEqual(server.faults, []);
});

test('filters, a content filter and the mode are logged, and a replay has them', async () => {
  const base = '/v1/collections/acme/filtered';
  for (const [docid, lang] of [
    ['D', 'de'],
    ['E', 'en'],
    ['F', 'de'],
  ])
    await call('POST', `${base}/documents`, { docid, text: `a ship from ${docid}`, metadata: { lang } });
  const asked = {
    q: 'ship',
    k: 4,
    mode: 'hybrid',
    filters: { lang: 'de' },
    content_filter: { op: 'contains', value: 'from D' },
    include_common: false,
  };
  const { json: original } = await call('POST', `${base}/search`, asked);
  assert.equal(original.matches.length, 1);
  const { json: entry } = await call('GET', `${base}/queries/${original.query_id}`);
  const { filters, content_filter, mode, include_common, k, timing } = entry.query;
  assert.deepEqual({ q: entry.query.query_text, k, mode, filters, content_filter, include_common }, asked);
  assert.equal(typeof timing.lexical_search_ms, 'number');
  const { json: replayed } = await call('POST', `${base}/queries/${original.query_id}/replay`);
  assert.deepEqual([replayed.mode, replayed.matches], ['hybrid', original.matches]);
});
