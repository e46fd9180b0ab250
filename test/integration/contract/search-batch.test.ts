// Batches of searches over a real socket: each search has the result that it gives alone, in order, and an error of one
// harms none of the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { refused, startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const DIM = 8;
const prng = createPrng(34);
const vector = (): number[] => Array.from({ length: DIM }, () => prng.normal());

const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS:
    '[{name: a, tenant: acme, key: acme}, {name: b, tenant: other, key: other}, {name: w, tenant: acme, key: writer, scopes: [ingest]}]',
  SHEAF_LIMITS__MAX_JSON_BYTES: '1000000',
});
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const path = '/v1/collections/acme/v';

await server.call('POST', path, { embedder_type: 'identity', embedder_config: { dim: DIM } }, as('root'));
const documents = Array.from({ length: 40 }, (_, i) => ({
  docid: `D${i}`,
  vector: vector(),
  metadata: { half: i % 2 },
}));
await server.call('POST', `${path}/documents:batch`, { documents }, as('root'));
await server.call(
  'POST',
  '/v1/collections/acme/t/documents',
  { docid: 'NEMO', text: 'Captain Nemo commands the Nautilus.' },
  as('root'),
);

const batch = async (searches: unknown, at = path): Promise<Record<string, any>[]> => {
  const { status, json } = await server.call('POST', `${at}/search:batch`, { searches }, as('acme'));
  assert.deepEqual([status, json.ok, Object.keys(json)], [200, true, ['ok', 'results', 'latency_ms', 'request_id']]);
  return json.results;
};
/** What does not differ between two runs of a search. */
const told = ({ query_id, timing, latency_ms, request_id, ...rest }: Record<string, any>): unknown => ({
  ...rest,
  timing: timing && Object.keys(timing),
  isLogged: query_id !== undefined,
});

test('results are in order and are those of the searches alone', async () => {
  const searches = [
    ...Array.from({ length: 100 }, (_, i) => ({ v: vector(), k: 1 + (i % 12) })),
    { v: vector(), k: 3, filters: { half: 1 }, explain: true },
    { v: vector(), exact: true },
  ];
  const results = await batch(searches);
  assert.equal(results.length, searches.length);
  for (const [i, search] of searches.entries()) {
    const alone = await server.call('POST', `${path}/search`, search, as('acme'));
    assert.deepEqual(told(results[i] as object), told(alone.json));
  }
});

for (const fronts of ['0', '2'])
  test(`a key with filters gets its own documents alone, ${fronts} front threads`, async () => {
    const filtered = await startTestServer({
      SHEAF_AUTH__MODE: 'static',
      SHEAF_AUTH__ADMIN_KEY: 'root',
      SHEAF_AUTH__KEYS: '[{name: odd, tenant: acme, key: odd, filters: {half: 1}}]',
      SHEAF_SERVER__THREADS: fronts,
    });
    await filtered.call('POST', path, { embedder_type: 'identity', embedder_config: { dim: DIM } }, as('root'));
    await filtered.call('POST', `${path}/documents:batch`, { documents }, as('root'));
    const searches = [
      { v: vector(), k: 40 },
      { v: vector(), k: 40, filters: { half: 0 } },
      { like: { docids: ['D0'] }, k: 40 },
      { sort: { field: 'half' }, k: 40 },
    ];
    const { status, json } = await filtered.call('POST', `${path}/search:batch`, { searches }, as('odd'));
    assert.equal(status, 200, JSON.stringify(json));
    const [all, none, like, sorted] = json.results as Record<string, any>[];
    for (const answer of [all, sorted]) {
      assert.equal(answer?.matches.length, 20);
      assert(answer.matches.every(({ meta }: any) => meta.half === 1));
    }
    assert.deepEqual(none?.matches, []);
    assert(
      (like?.matches ?? []).every(({ meta }: any) => meta.half === 1),
      'an example that the key does not see gives nothing',
    );
    const alone = await filtered.call('POST', `${path}/search`, searches[2], as('odd'));
    assert.equal(like?.code, alone.json.code);
  });

test('texts and filters, in a collection of texts', async () => {
  const [found, hybrid, none] = await batch(
    [{ q: 'submarine captain' }, { q: 'Nautilus', mode: 'hybrid' }, { q: 'captain', filters: { lang: 'en' } }],
    '/v1/collections/acme/t',
  );
  assert.deepEqual([found?.matches[0].id, hybrid?.mode, none?.matches], ['NEMO::chunk_0', 'hybrid', []]);
});

test('bad searches have their own errors, which are those that they give alone', async () => {
  const good = { v: vector(), k: 2 };
  const bad: unknown[] = [
    { v: [1, 2] },
    { q: 'text' },
    {},
    { q: 'a', v: [1] },
    { v: vector(), k: 0 },
    { v: vector(), k: 1001 },
    { v: vector(), unknown: 1 },
    { v: vector(), filters: { a: { $like: 1 } } },
    { v: new Array<number>(DIM).fill(0) },
    { v: vector(), mode: 'hybrid' },
    { v_base64: '!' },
    'no search',
    null,
    { v: vector(), filters: { a: Array.from({ length: 13_000 }, (_, i) => i) } },
  ];
  const results = await batch([good, ...bad.flatMap((each) => [each, good])]);
  const [first] = results;
  for (const [i, search] of bad.entries()) {
    const { ok, code, error, detail, details } = results[2 * i + 1] as Record<string, any>;
    const alone = await server.call('POST', `${path}/search`, JSON.stringify(search), as('acme'));
    assert.deepEqual(
      { ok, code, error, detail, details },
      {
        ok: false,
        code: alone.json.code,
        error: alone.json.error,
        detail: alone.json.detail,
        details: alone.json.details,
      },
      JSON.stringify(search),
    );
    assert.deepEqual(told(results[2 * i + 2] as object), told(first as object));
  }
});

test('1,000 searches are one batch, 1,001 are none', async () => {
  const search = { v: vector(), k: 1 };
  assert.equal((await batch(new Array(1000).fill(search))).length, 1000);
  const body = { searches: new Array(1001).fill(search) };
  const { details } = await refused(
    server.call('POST', `${path}/search:batch`, body, as('acme')),
    413,
    'request_too_large',
  );
  assert.deepEqual([details.limit_items, details.items], [1000, 1001]);
});

test('a body that is no batch is one error', async () => {
  const cases: [string, number, string][] = [
    ['', 422, 'invalid_json'],
    ['{"searches":[{"q":"a"}', 422, 'invalid_json'],
    ['{"searches":[{"q":tru}]}', 422, 'invalid_json'],
    ['{"searches":[{"q":"a"},]}', 422, 'invalid_json'],
    ['{"searches":[{"v":[1,2,]}]}', 422, 'invalid_json'],
    ['[]', 422, 'validation_error'],
    ['{}', 422, 'validation_error'],
    ['{"searches":{}}', 422, 'validation_error'],
    ['{"searches":[]}', 422, 'validation_error'],
    ['{"searches":null}', 422, 'validation_error'],
    ['{"searches":[{"q":"a"}],"k":3}', 422, 'validation_error'],
    [`{"searches":[${'['.repeat(400_000)}`, 422, 'invalid_json'],
    [`{"searches":[{"q":"a"}]${' '.repeat(1_000_000)}}`, 413, 'request_too_large'],
  ];
  for (const [body, status, code] of cases)
    await refused(server.call('POST', `${path}/search:batch`, body, as('acme')), status, code);
});

test('a collection that is missing has no hits, and nothing is logged', async () => {
  const [result] = await batch([{ q: 'a' }], '/v1/collections/acme/missing');
  assert.deepEqual([result?.matches, result?.query_id], [[], undefined]);
});

test('each search is logged and counted', async () => {
  const counted = async (): Promise<number> =>
    (await server.call('GET', '/health/metrics', undefined, as('root'))).json.search_total;
  const before = await counted();
  const results = await batch(Array.from({ length: 3 }, () => ({ v: vector(), k: 1 })));
  assert.equal(await counted(), before + 3);
  const logged = async (): Promise<string[]> => {
    const { json } = await server.call('GET', `${path}/queries?limit=3`, undefined, as('root'));
    return json.queries.map(({ query_id }: { query_id: string }) => query_id).sort();
  };
  const ids = results.map(({ query_id }) => query_id as string).sort();
  await until(
    async () => JSON.stringify(await logged()) === JSON.stringify(ids),
    () => 'the searches are not in the log',
  );
});

test('a batch needs the scope and the tenant of a search', async () => {
  const body = { searches: [{ v: vector() }] };
  const send = (key: string): ReturnType<typeof server.call> =>
    server.call('POST', `${path}/search:batch`, body, as(key));
  await refused(send('writer'), 403, 'auth_forbidden');
  await refused(send('other'), 403, 'auth_forbidden');
  await refused(send('nobody'), 401, 'auth_invalid');
});

test('two tenants with batches at a time have their own results', async () => {
  const other = '/v1/collections/other/v';
  await server.call('POST', other, { embedder_type: 'identity', embedder_config: { dim: DIM } }, as('root'));
  await server.call('POST', `${other}/documents`, { docid: 'OTHER', vector: vector() }, as('root'));
  const searches = Array.from({ length: 200 }, () => ({ v: vector(), k: 1 }));
  const [ours, theirs] = await Promise.all([
    batch(searches),
    server.call('POST', `${other}/search:batch`, { searches }, as('other')),
  ]);
  assert.ok(ours.every(({ matches }) => matches[0].tenant === 'acme'));
  assert.ok(theirs.json.results.every(({ matches }: any) => matches[0].id === 'OTHER::0'));
});

test('each search counts as a request for the rate of the tenant', async (t) => {
  await server.call('PATCH', '/v1/admin/tenants/other', { requests_per_second: 1, burst: 5 }, as('root'));
  const nowMs = performance.now();
  t.mock.method(performance, 'now', () => nowMs);
  const body = { searches: new Array(9).fill({ v: vector() }) };
  const send = (): ReturnType<typeof server.call> =>
    server.call('POST', '/v1/collections/other/none/search:batch', body, as('other'));
  const { status, json } = await send();
  assert.deepEqual([status, json.results.length], [200, 9]);
  const { headers } = await send();
  assert.deepEqual([headers.get('retry-after'), headers.get('x-ratelimit-remaining')], ['5', '0']);
});
