// Pages of a search, by `offset` and by a cursor, and lowest scores, against a naive version: in every mode, with
// filters, with and without front threads, over a restart. And which fields hits have.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { naiveRanking, type NaiveChunk, type NaiveHit, type NaiveQuery } from '../../kit/service/naive-search.js';
import { FILTERS, PATH, chunksFor, fill, pick, randomDocument, sentence } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 20_261_124;
const MODES = ['vector', 'boost', 'hybrid'] as const;
const REACH_MAX = 10_000;

const prng = createPrng(SEED);
const directory = tempDirectory();
const start = (fronts: string): Promise<TestServer> =>
  startTestServer({ SHEAF_SERVER__THREADS: fronts, ...(fronts === '2' && { SHEAF_DATA_DIR: directory }) });
let servers = await Promise.all(['0', '2'].map(start));
await fill(
  servers,
  Array.from({ length: 120 }, (_, i) => randomDocument(prng, `D${i}`)),
);

/** The hits of all pages of `query.k` hits. */
function naivePages(all: readonly NaiveChunk[], query: NaiveQuery, minScore = -Infinity): NaiveHit[] {
  const taken: NaiveHit[] = [];
  for (let window = query.k; ; window = Math.min(10 * window, REACH_MAX)) {
    const ranking = naiveRanking(all, { ...query, k: window });
    const fresh = ranking.filter(({ id, score }) => score >= minScore && taken.every((hit) => hit.id !== id));
    taken.push(...fresh.slice(0, window - taken.length));
    const isAll = query.mode === 'vector' ? ranking.length < window : taken.length < window;
    if (isAll || window === REACH_MAX) return taken;
  }
}

interface Asked {
  readonly query: NaiveQuery;
  readonly body: Record<string, unknown>;
}

function randomSearch(): Asked {
  const [filter, fits] = pick(prng, FILTERS);
  const query: NaiveQuery = {
    q: sentence(prng, 1 + prng.int(4)),
    mode: pick(prng, MODES),
    k: pick(prng, [1, 3, 10]),
    fits,
  };
  return { query, body: { q: query.q, mode: query.mode, k: query.k, ...filter } };
}

async function matchesOf({ call }: TestServer, body: object): Promise<NaiveHit[]> {
  const { status, json } = await call('POST', `${PATH}/search`, body);
  assert.equal(status, 200, JSON.stringify(json));
  return json.matches;
}

function assertSame(found: readonly NaiveHit[], expected: readonly NaiveHit[], what: string): void {
  const idsOf = (hits: readonly NaiveHit[]): string[] => hits.map(({ id }) => id);
  assert.deepEqual(idsOf(found), idsOf(expected), what);
  found.forEach(({ score }, i) => assert.ok(Math.abs(score - (expected[i]?.score ?? NaN)) < 1e-9, what));
}

async function assertLikeNaive(searches: number): Promise<void> {
  for (let i = 0; i < searches; i++) {
    const { query, body } = randomSearch();
    const all = await chunksFor(servers[0] as TestServer, query.q);
    const whole = naivePages(all, query);
    const minScore = prng.int(3) === 0 ? whole[prng.int(20)]?.score : undefined;
    const expected = naivePages(all, query, minScore);
    const offset = pick(prng, [0, 1, 7, 30, 110, 400]);
    const asked = { ...body, offset, ...(minScore !== undefined && { min_score: minScore - 1e-12 }) };
    for (const server of servers)
      assertSame(
        await matchesOf(server, asked),
        expected.slice(offset, offset + query.k),
        `seed ${SEED}, search ${i}: ${JSON.stringify(asked)}`,
      );
  }
}

test('offset and min_score', () => assertLikeNaive(60));

/** All hits of a search, page by page; each page is asked of another server in turn, as cursors hold nothing of a server. */
async function walk(body: object, pagesMax = Infinity): Promise<NaiveHit[]> {
  const hits: NaiveHit[] = [];
  let cursor: string | undefined = '*';
  for (let page = 0; cursor !== undefined && page < pagesMax; page++) {
    const { call } = servers[page % servers.length] as TestServer;
    const { status, json } = await call('POST', `${PATH}/search`, { ...body, cursor });
    assert.equal(status, 200, JSON.stringify(json));
    hits.push(...json.matches);
    cursor = json.next_cursor;
  }
  return hits;
}

test('a cursor leads through all hits, each once', async () => {
  for (let i = 0; i < 9; i++) {
    const { query, body } = randomSearch();
    query.k = body.k = 20 + prng.int(40);
    query.mode = body.mode = MODES[i % 3]!;
    const expected = naivePages(await chunksFor(servers[0] as TestServer, query.q), query);
    const what = `seed ${SEED}, walk ${i}: ${JSON.stringify(body)}`;
    assertSame(await walk(body), expected, what);
    const first = await matchesOf(servers[0] as TestServer, body);
    assertSame(first, expected.slice(0, query.k), `${what}: the first page is that of a search without cursor`);
  }
});

test('a cursor of another search is refused', async () => {
  const { call } = servers[0] as TestServer;
  const body = { q: 'whale captain', k: 2, filters: { lang: ['de', 'en'] } };
  const { json: first } = await call('POST', `${PATH}/search`, { ...body, cursor: '*' });
  const cursor = first.next_cursor;
  const refused = async (other: object, message: RegExp, path = PATH): Promise<void> => {
    const { status, json } = await call('POST', `${path}/search`, other);
    assert.deepEqual([status, json.code, json.detail?.[0]?.loc], [422, 'validation_error', ['body', 'cursor']]);
    assert.match(json.error, message);
  };
  await refused({ ...body, q: 'sea', cursor }, /another search/);
  await refused({ ...body, k: 3, cursor }, /another search/);
  await refused({ ...body, filters: { lang: ['de'] }, cursor }, /another search/);
  await refused({ ...body, cursor }, /another search/, '/v1/collections/acme/plain');
  await refused({ ...body, cursor: 'x' }, /first page/);
  await refused({ ...body, cursor, offset: 2 }, /only one of `cursor` and `offset`/);
  const reordered = { cursor, filters: body.filters, k: 2, q: body.q, mode: null };
  const second = await call('POST', `${PATH}/search`, reordered);
  assert.equal(second.status, 200, 'the order of the fields does not matter');
  const { json: whole } = await call('POST', `${PATH}/search`, { ...body, k: 4 });
  assert.deepEqual(
    [...first.matches, ...second.json.matches].map(({ id }: NaiveHit) => id),
    whole.matches.map(({ id }: NaiveHit) => id),
  );
});

const REFUSED: [string, object, RegExp][] = [
  ['an offset beyond the reach', { offset: 9_998, k: 3 }, /at most 10000/],
  ['half an offset', { offset: 0.5 }, /offset/],
  ['an offset beyond the candidates of a reranker', { offset: 60, rerank: { instance: 'x' } }, /rerank.depth/],
  ['a relevance above 1', { min_relevance: 1.5 }, /min_relevance/],
  ['an unknown field', { include: ['txt'] }, /meta.KEY/],
  ['a text in place of an object', { sort: 'year' }, /sort: Should be an object\.$/],
  ['a text in place of a list', { include: 'text' }, /include: Should be a list\.$/],
  ['a key without a name', { exclude: ['meta.'] }, /meta.KEY/],
];
for (const [name, body, message] of REFUSED) {
  test(`422 for ${name}`, async () => {
    const { status, json } = await (servers[0] as TestServer).call('POST', `${PATH}/search`, { q: 'sea', ...body });
    assert.deepEqual([status, json.code], [422, 'validation_error']);
    assert.match(json.error, message);
  });
}

test('min_relevance leaves out what is less relevant', async () => {
  const body = { q: 'whale captain submarine', k: 100, mode: 'hybrid', relevance: true };
  for (const server of servers) {
    const all = await matchesOf(server, body);
    const threshold = (all[10] as any).relevance;
    const expected = all.filter((hit: any) => hit.relevance >= threshold);
    assert.ok(expected.length > 0 && expected.length < all.length);
    assert.deepEqual(await matchesOf(server, { ...body, min_relevance: threshold }), expected);
    const untold = await matchesOf(server, { ...body, relevance: false, min_relevance: threshold });
    assert.deepEqual(
      untold,
      expected.map(({ relevance: _, ...hit }: any) => hit),
    );
  }
});

test('include, exclude, with_text and with_vector', async () => {
  const body = { q: 'whale captain', k: 5, mode: 'hybrid', filters: { lang: 'de' } };
  for (const server of servers) {
    const all: any[] = await matchesOf(server, body);
    const with_ = async (options: object): Promise<any[]> => matchesOf(server, { ...body, ...options });
    const shown = (change: (hit: any) => object): any[] => all.map((hit) => ({ ...hit, ...change(hit) }));
    const textless = all.map(({ text: _, ...hit }) => hit);
    assert.deepEqual(await with_({ with_text: false }), textless);
    assert.deepEqual(await with_({ exclude: ['text'] }), textless);
    assert.deepEqual(
      await with_({ include: ['text', 'meta.lang', 'meta.none'] }),
      shown(({ meta }) => ({ meta: { lang: meta.lang }, match_reason: '' })),
    );
    assert.deepEqual(
      await with_({ exclude: ['meta.lang', 'meta.offset'] }),
      shown(({ meta: { lang: _, offset: __, ...meta } }) => ({ meta })),
    );
    assert.deepEqual(
      await with_({ include: ['meta', 'text'], exclude: ['meta'] }),
      shown(() => ({ meta: {}, match_reason: '' })),
    );
    const [{ id, vector }] = await with_({ with_vector: true });
    assert.equal(id, all[0].id);
    const { json } = await server.call('POST', `${PATH}/search`, {
      v: vector,
      k: 1,
      filters: { docid: all[0].meta.docid, offset: all[0].meta.offset },
    });
    assert.match(json.matches[0].match_reason, /^vector: cosine 1.000/, 'the stored vector finds its own chunk');
  }
});

test('the query log has the options, and a replay uses them', async () => {
  const { call } = servers[1] as TestServer;
  const body = {
    q: 'whale captain',
    k: 4,
    offset: 3,
    min_score: 0.001,
    with_text: false,
    include: ['meta.lang', 'text'],
  };
  const { json } = await call('POST', `${PATH}/search`, body);
  const { json: entry } = await call('GET', `${PATH}/queries/${json.query_id}`);
  assert.deepEqual([entry.query.offset, entry.query.min_score, entry.query.exclude], [3, 0.001, ['text']]);
  const { json: replay } = await call('POST', `${PATH}/queries/${json.query_id}/replay`);
  assert.deepEqual(replay.matches, json.matches);
});

test('the same after a restart', async () => {
  const stopped = servers.pop() as TestServer;
  await stopped.stop();
  servers = [...servers, await start('2')];
  await assertLikeNaive(15);
});
