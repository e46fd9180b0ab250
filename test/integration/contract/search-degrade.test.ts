// An embedder that does not answer, over a real socket: what searches and ingests do meanwhile, and what they leave
// behind. The embedder is a local endpoint.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startOpenAiServer } from '../../kit/openai-server.js';
import { startTestServer, type Answer, type TestServer } from '../../kit/server.js';

const PATH = '/v1/collections/acme/docs';
const DOCUMENTS = [
  { docid: 'A', text: 'submarine captain', metadata: { lang: 'en' } },
  { docid: 'B', text: 'captain captain captain', metadata: { lang: 'de', prio_boost: 1 } },
  { docid: 'C', text: 'bread and butter', metadata: { lang: 'en' } },
  { docid: 'D', text: 'a submarine, deep below', metadata: { lang: 'en' } },
];
const Q = 'submarine captain';

interface Setup {
  server: TestServer;
  /** The texts that the endpoint has received. */
  asked: () => string[];
  goDown: () => void;
  /** Resolves when the server has noticed. */
  comeBack: () => Promise<void>;
}

async function setUp(t: TestContext, env: Record<string, string> = {}): Promise<Setup> {
  let isDown = false;
  const endpoint = await startOpenAiServer(t, {
    dim: 8,
    fail: () => (isDown ? { status: 503, json: { error: { message: 'down for maintenance' } } } : undefined),
  });
  const instance = {
    key: 'far',
    type: 'openai',
    url: endpoint.url,
    model: 'm',
    dim: 8,
    retries: 0,
    timeout_seconds: 5,
  };
  const server = await startTestServer({
    SHEAF_EMBEDDER__INSTANCES: JSON.stringify([instance]),
    SHEAF_EMBEDDER__DEFAULT: 'far',
    SHEAF_SEARCH__DEGRADE: 'true',
    ...env,
  });
  for (const document of DOCUMENTS)
    assert.equal((await server.call('POST', `${PATH}/documents`, document)).status, 201);
  const comeBack = async (): Promise<void> => {
    isDown = false;
    for (let n = 0; (await server.call('POST', `${PATH}/search`, { q: `back ${n}` })).status !== 200; n++)
      await new Promise((resolve) => setTimeout(resolve, 20));
  };
  return { server, asked: () => endpoint.calls.flatMap(({ input }) => input), goDown: () => (isDown = true), comeBack };
}

const search = ({ call }: TestServer, body: object, path = PATH): Promise<Answer> =>
  call('POST', `${path}/search`, { q: Q, k: 3, ...body });
const shown = ({ json }: Answer): unknown[] =>
  json.matches.map(({ id, score, match_reason }: any) => [id, score, match_reason]);
const ids = ({ json }: Answer): string[] => json.matches.map(({ id }: any) => id);
const rejection = ({ status, json }: Answer): unknown[] => [status, json.code];
const DOWN = [503, 'embedder_unavailable'];

test('modes boost and hybrid answer by words alone, as the lexical half of hybrid ranks, and say so', async (t) => {
  const { server, goDown, comeBack } = await setUp(t);
  const whole = await search(server, { mode: 'hybrid' });
  assert.deepEqual([whole.json.degraded, 'degraded' in whole.json], [undefined, false]);
  const rankOf = ({ match_reason }: any): number => Number(/lexical rank (\d+)/.exec(match_reason)?.[1] ?? NaN);
  const byWords = whole.json.matches
    .filter((hit: any) => !Number.isNaN(rankOf(hit)))
    .sort((a: any, b: any) => rankOf(a) - rankOf(b));
  goDown();
  for (const mode of ['hybrid', 'boost']) {
    const { status, json } = await search(server, { q: `${Q}!`, mode, filters: { lang: 'en' } });
    assert.deepEqual([status, json.mode, json.degraded], [200, mode, true]);
    assert.ok(json.timing.embed_ms > 0);
    const found = await search(server, { q: `${Q}?`, mode });
    assert.deepEqual(shown(found), [
      ['B::chunk_0', 2 / 62, 'hybrid: lexical rank 2, each 1/(60+rank); priority: prio_boost +1.00, 0.016 -> 0.032'],
      ['A::chunk_0', 1 / 61, 'hybrid: lexical rank 1, each 1/(60+rank)'],
      ['D::chunk_0', 1 / 63, 'hybrid: lexical rank 3, each 1/(60+rank)'],
    ]);
    assert.deepEqual(
      byWords.map((hit: any) => [hit.id, rankOf(hit)]),
      [
        ['A::chunk_0', 1],
        ['B::chunk_0', 2],
        ['D::chunk_0', 3],
      ],
    );
    assert.deepEqual(ids(await search(server, { q: `${Q}.`, mode, filters: { lang: 'en' } })), [
      'A::chunk_0',
      'D::chunk_0',
    ]);
    assert.deepEqual(
      ids(await search(server, { q: `${Q},`, mode, content_filter: { op: 'phrase', value: 'deep below' } })),
      ['D::chunk_0'],
    );
    assert.deepEqual(ids(await search(server, { q: 'no such word', mode })), []);
  }
  await comeBack();
  assert.ok(!('degraded' in (await search(server, { q: `${Q};`, mode: 'hybrid' })).json));
  assert.deepEqual(server.faults, []);
});

test('mode vector is refused, and so are the others where search.degrade does not allow it', async (t) => {
  const { server, goDown, comeBack } = await setUp(t, { SHEAF_SEARCH__DEGRADE: 'false' });
  goDown();
  for (const mode of ['vector', 'boost', 'hybrid'])
    assert.deepEqual(rejection(await search(server, { mode })), DOWN, mode);
  await comeBack();
  assert.equal((await search(server, { mode: 'boost' })).status, 200);
});

test('the query log says that a search was degraded; a replay is degraded only if it has to be', async (t) => {
  const { server, goDown, comeBack } = await setUp(t);
  const { call } = server;
  goDown();
  assert.deepEqual(rejection(await search(server, { mode: 'vector' })), DOWN);
  const { query_id: id } = (await search(server, { mode: 'boost' })).json;
  const { query } = (await call('GET', `${PATH}/queries/${id}`)).json;
  assert.deepEqual([query.mode, query.degraded, query.result_ids.length], ['boost', true, 3]);
  const again = (await call('POST', `${PATH}/queries/${id}/replay`)).json;
  assert.deepEqual([again.mode, again.degraded, again.matches.length], ['boost', true, 3]);
  await comeBack();
  const whole = (await call('POST', `${PATH}/queries/${id}/replay`)).json;
  assert.deepEqual([whole.mode, 'degraded' in whole], ['boost', false]);
  const { query: replayed } = (await call('GET', `${PATH}/queries/${whole.replay_query_id}`)).json;
  assert.deepEqual([replayed.replay_of, 'degraded' in replayed], [id, false]);
});

test('the common collection is searched by words too, beside another and alone', async (t) => {
  const { server, goDown } = await setUp(t, { SHEAF_COMMON__ENABLED: 'true' });
  const { call } = server;
  assert.equal(
    (await call('POST', '/v1/collections/global/common/documents', { docid: 'Z', text: 'the captain of a submarine' }))
      .status,
    201,
  );
  goDown();
  const beside = await search(server, { mode: 'hybrid', include_common: true, k: 2 });
  assert.deepEqual([ids(beside), beside.json.degraded], [['B::chunk_0', 'A::chunk_0'], true]);
  const all = await search(server, { mode: 'hybrid', include_common: true, k: 10 });
  assert.deepEqual(ids(all), ['B::chunk_0', 'A::chunk_0', 'Z::chunk_0', 'D::chunk_0']);
  const shared = await call('POST', '/v1/search', { q: Q, mode: 'hybrid' });
  assert.deepEqual([ids(shared), shared.json.degraded, shared.json.query_id], [['Z::chunk_0'], true, undefined]);
});

test('an ingest is refused whole, and leaves nothing; what was there stays searchable', async (t) => {
  const { server, goDown, comeBack } = await setUp(t);
  const { call } = server;
  goDown();
  assert.deepEqual(
    rejection(await call('POST', '/v1/collections/acme/fresh/documents', { docid: 'A', text: 'one' })),
    DOWN,
  );
  assert.deepEqual(rejection(await call('GET', '/v1/collections/acme/fresh/detail')), [404, 'collection_not_found']);
  assert.deepEqual(rejection(await call('POST', `${PATH}/documents`, { docid: 'A', text: 'something else' })), DOWN);
  const batch = {
    documents: [
      { docid: 'A', text: 'anew' },
      { docid: 'E', text: 'another' },
    ],
  };
  const { json } = await call('POST', `${PATH}/documents:batch`, batch);
  assert.deepEqual(
    json.documents.map((item: any) => [item.docid, item.ok, item.code]),
    [
      ['A', false, 'embedder_unavailable'],
      ['E', false, 'embedder_unavailable'],
    ],
  );
  assert.deepEqual(
    (await call('GET', `${PATH}/documents`)).json.documents.map(({ docid, version }: any) => [docid, version]),
    DOCUMENTS.map(({ docid }) => [docid, 1]),
  );
  assert.deepEqual(ids(await search(server, { q: 'submarine', mode: 'hybrid' })), ['A::chunk_0', 'D::chunk_0']);
  await comeBack();
  const put = await call('POST', `${PATH}/documents`, { docid: 'A', text: 'something else' });
  assert.equal(put.status, 201);
  assert.equal((await call('GET', `${PATH}/documents/A`)).json.version, 2);
});

test('a text that was searched for before is answered whole while the embedder is down; nobody else is', async (t) => {
  const { server, asked, goDown } = await setUp(t);
  const { call } = server;
  const before = await search(server, {});
  const askedBefore = asked().length;
  assert.deepEqual(shown(await search(server, {})), shown(before));
  assert.ok(!('degraded' in (await search(server, { mode: 'hybrid' })).json));
  assert.equal(asked().length, askedBefore, 'one embedding serves every mode');
  assert.equal((await call('POST', '/v1/collections/other/docs/documents', DOCUMENTS[0])).status, 201);
  goDown();
  assert.deepEqual(shown(await search(server, {})), shown(before));
  assert.deepEqual(rejection(await search(server, {}, '/v1/collections/other/docs')), DOWN);
});

test('many who ask for the same text at a time cost one call; the metrics count it all', async (t) => {
  const { server, asked, goDown } = await setUp(t);
  const samples = async (): Promise<Map<string, number>> => {
    const { text } = await server.call('GET', '/metrics');
    return new Map(
      text
        .split('\n')
        .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
    );
  };
  const before = await samples();
  await Promise.all(Array.from({ length: 20 }, () => search(server, { q: 'the same for all' })));
  assert.equal(asked().filter((text) => text === 'the same for all').length, 1);
  goDown();
  await search(server, { q: 'something new', mode: 'hybrid' });
  const after = await samples();
  const gained = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  assert.deepEqual(
    ['hits', 'misses', 'evictions'].map((what) => gained(`sheaf_query_cache_${what}_total`)),
    [19, 2, 0],
  );
  assert.deepEqual(
    [gained('sheaf_query_cache_entries'), gained('sheaf_searches_total'), gained('sheaf_searches_degraded_total')],
    [1, 21, 1],
  );
  assert.equal(gained('sheaf_embedder_failures_total{embedder="far",kind="queries"}'), 1);
  assert.equal(gained('sheaf_embedder_call_texts_sum{embedder="far",kind="queries"}'), 1);
  assert.equal(after.get('sheaf_embedder_call_texts_sum{embedder="far",kind="documents"}'), DOCUMENTS.length);
  assert.equal(after.get('sheaf_embedder_usable{embedder="far"}'), 1, 'one failure opens no breaker');
});

test('in the shared scope, a text that one tenant has asked for is not there sooner for another', async (t) => {
  const endpoint = await startOpenAiServer(t, { dim: 8 });
  const keys = JSON.stringify([
    { name: 'a', tenant: 'acme', key: 'key-a' },
    { name: 'a', tenant: 'other', key: 'key-b' },
  ]);
  const server = await startTestServer({
    ...{
      SHEAF_AUTH__MODE: 'static',
      SHEAF_AUTH__ADMIN_KEY: 'boss',
      SHEAF_AUTH__KEYS: keys,
      SHEAF_COMMON__ENABLED: 'true',
      SHEAF_EMBEDDER__DEFAULT: 'far',
    },
    SHEAF_EMBEDDER__INSTANCES: JSON.stringify([
      { key: 'far', type: 'openai', url: endpoint.url, model: 'm', dim: 8, retries: 0 },
    ]),
  });
  for (const key of ['key-a', 'key-b', 'key-a', 'boss', 'key-b', 'boss']) {
    assert.equal((await server.call('POST', '/v1/search', { q: Q }, { authorization: `Bearer ${key}` })).status, 200);
  }
  assert.equal(endpoint.calls.filter(({ input }) => input.includes(Q)).length, 3);
});
