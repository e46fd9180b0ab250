// Searches by several queries, against the separate searches of these queries, fused here: by ranks and by scores, in
// every mode, with filters, groups, pages and boosts, with and without front threads, over a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { refused, startTestServer, type TestServer } from '../../kit/server.js';
import { FILTERS, PATH, fill, pick, randomDocument, sentence } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 20_261_130;
const MODES = ['vector', 'boost', 'hybrid'] as const;

const prng = createPrng(SEED);
const directory = tempDirectory();
const start = (fronts: string): Promise<TestServer> =>
  startTestServer({ SHEAF_SERVER__THREADS: fronts, ...(fronts === '2' && { SHEAF_DATA_DIR: directory }) });
let servers = await Promise.all(['0', '2'].map(start));
await fill(
  servers,
  Array.from({ length: 100 }, (_, i) => randomDocument(prng, `D${i}`)),
);

async function answerOf({ call }: TestServer, body: object): Promise<any> {
  const { status, json } = await call('POST', `${PATH}/search`, body);
  assert.equal(status, 200, JSON.stringify(json));
  return json;
}

const { matches: stored } = await answerOf(servers[0] as TestServer, { sort: {}, k: 1000, with_vector: true });
const pathIndex = (id: string): number => Number(id.slice(id.indexOf('::chunk_') + '::chunk_'.length));
const docidOf = (id: string): string => id.slice(0, id.indexOf('::'));
const byPosition = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(docidOf(a)), Buffer.from(docidOf(b))) || pathIndex(a) - pathIndex(b);

interface Fused {
  id: string;
  score: number;
  found: { query: number; rank: number; score: number; weight: number }[];
}

interface Asked {
  readonly queries: any[];
  readonly fusion?: any;
  readonly common: object;
  readonly depth: number;
}

function randomQuery(): any {
  const weight = pick(prng, [undefined, undefined, 0.5, 2, 0]);
  const weighed = weight === undefined ? {} : { weight };
  const chunk = pick<any>(prng, stored);
  switch (prng.int(6)) {
    case 0:
      return { v: chunk.vector, ...weighed };
    case 1: {
      const bytes = Buffer.from(Float32Array.from(chunk.vector).buffer);
      return { v_base64: bytes.toString('base64'), ...weighed };
    }
    case 2:
      return { like: { docids: [docidOf(chunk.id)], not: { chunks: [pick<any>(prng, stored).id] } }, ...weighed };
    case 3:
      return { q: sentence(prng, 2), mode: pick(prng, MODES), ...weighed };
    case 4: {
      const fusion = { method: 'score', weights: { vector: 0.4, lexical: 0.6 } };
      return { q: sentence(prng, 2), mode: 'hybrid', fusion, ...weighed };
    }
    default:
      return { q: sentence(prng, 1 + prng.int(3)), ...weighed };
  }
}

function randomSearch(): Asked {
  const queries = Array.from({ length: 1 + prng.int(4) }, randomQuery);
  if (queries.every(({ weight }) => weight === 0)) delete queries[0].weight;
  const [filter] = pick(prng, FILTERS);
  const mode = pick(prng, [undefined, ...MODES]);
  const depth = pick(prng, [30, 60]);
  const method = pick(prng, ['rank', 'rank', 'score']);
  const k = method === 'rank' && prng.int(2) === 0 ? { k: pick(prng, [1, 10, 200]) } : {};
  return { queries, fusion: { method, depth, ...k }, common: { ...filter, ...(mode && { mode }) }, depth };
}

/** The hits of the separate searches, fused. */
async function naiveFused(server: TestServer, { queries, fusion, common, depth }: Asked): Promise<Fused[]> {
  const found = new Map<string, Fused['found']>();
  for (const [query, { weight = 1, ...own }] of queries.entries()) {
    const mode = 'mode' in common && own.q === undefined ? { mode: 'vector' } : {};
    const { matches } = await answerOf(server, { ...common, ...mode, ...own, k: depth });
    matches.forEach(({ id, score }: any, i: number) => {
      found.set(id, [...(found.get(id) ?? []), { query, rank: i + 1, score, weight }]);
    });
  }
  const fused = [...found].map(([id, by]): Fused => {
    const scores = by.map(({ rank, score, weight }) =>
      fusion?.method === 'score' ? weight * score : weight / ((fusion?.k ?? 60) + rank),
    );
    return { id, found: by, score: scores.reduce((sum, one) => sum + one, 0) };
  });
  return fused.sort((a, b) => b.score - a.score || byPosition(a.id, b.id));
}

const isClose = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(b));

function assertSame(found: readonly any[], expected: readonly Fused[], what: string): void {
  assert.deepEqual(
    found.map(({ id }) => id),
    expected.map(({ id }) => id),
    what,
  );
  found.forEach(({ score }, i) => assert.ok(isClose(score, (expected[i] as Fused).score), `${what}: hit ${i}`));
}

async function assertLikeSeparate(searches: number): Promise<void> {
  for (let i = 0; i < searches; i++) {
    const asked = randomSearch();
    const [k, offset] = [pick(prng, [1, 5, 12]), pick(prng, [0, 0, 9])];
    const body = { queries: asked.queries, fusion: asked.fusion, ...asked.common, k, offset, explain: true };
    const what = `seed ${SEED}, search ${i}: ${JSON.stringify(body).slice(0, 2000)}`;
    for (const server of servers) {
      const expected = await naiveFused(server, asked);
      const { matches } = await answerOf(server, body);
      assertSame(matches, expected.slice(offset, offset + k), what);
      matches.forEach(({ explain, match_reason: reason }: any, at: number) => {
        const { found } = expected[offset + at] as Fused;
        assert.deepEqual(explain.queries.found, found, what);
        assert.match(reason, /^queries: /);
      });
    }
  }
}

test('random queries are fused as their separate searches', () => assertLikeSeparate(40));

test('by rank, to a depth of 50, if nothing else is said', async () => {
  const asked: Asked = { queries: [{ q: 'whale' }, { q: 'captain', mode: 'hybrid' }], common: {}, depth: 50 };
  for (const server of servers) {
    const { matches, mode } = await answerOf(server, { queries: asked.queries, k: 10, highlight: true });
    assertSame(matches, (await naiveFused(server, asked)).slice(0, 10), 'defaults');
    assert.equal(mode, 'vector');
    assert.ok(matches.every(({ highlight }: any) => highlight.text.length > 0));
  }
});

test('a cursor leads through all fused hits; groups, lowest scores, diversity and boosts see them', async () => {
  const asked: Asked = {
    queries: [{ q: 'whale captain' }, { q: 'graph', mode: 'hybrid', weight: 2 }],
    fusion: { method: 'rank', depth: 40 },
    common: {},
    depth: 40,
  };
  const body = { queries: asked.queries, fusion: asked.fusion, k: 9 };
  const expected = await naiveFused(servers[0] as TestServer, asked);
  const found: any[] = [];
  let cursor: string | undefined = '*';
  for (let page = 0; cursor !== undefined; page++) {
    const json = await answerOf(servers[page % 2] as TestServer, { ...body, cursor });
    found.push(...json.matches);
    cursor = json.next_cursor;
  }
  assertSame(found, expected, 'all pages');
  for (const server of servers) {
    const docids = [...new Set(expected.map(({ id }) => docidOf(id)))];
    const groups = await answerOf(server, { ...body, group_by: 'docid' });
    assert.deepEqual(
      groups.matches.map(({ group }: any) => group),
      docids.slice(0, 9),
    );
    const least = (expected[4] as Fused).score;
    const kept = await answerOf(server, { ...body, min_score: least });
    assertSame(kept.matches, expected.filter(({ score }) => score >= least).slice(0, 9), 'lowest score');
    const diverse = await answerOf(server, { ...body, diversity: { lambda: 1 } });
    assertSame(diverse.matches, expected.slice(0, 9), 'diversity that keeps the order');
    const boost = { fields: [{ field: 'none', missing: 1 }], combine: 'sum', depth: 60 };
    const boosted = await answerOf(server, { ...body, boost_by: boost });
    assertSame(
      boosted.matches,
      expected.slice(0, 9).map((hit) => ({ ...hit, score: hit.score + 1 })),
      'a boost of all alike',
    );
  }
});

test('in a batch, in the query log and in its replay', async () => {
  const [{ vector }] = stored;
  const body = {
    queries: [{ q: 'whale', weight: 2 }, { v: vector }, { like: { docids: ['D7'] } }],
    fusion: { method: 'score' },
    k: 6,
  };
  for (const server of servers) {
    const { call } = server;
    const first = await answerOf(server, body);
    const { json: batch } = await call('POST', `${PATH}/search:batch`, { searches: [body, { queries: [{}] }] });
    assert.deepEqual(batch.results[0].matches, first.matches);
    assert.equal(batch.results[1].code, 'validation_error');
    const { json: entry } = await call('GET', `${PATH}/queries/${first.query_id}`);
    const base64 = Buffer.from(Float32Array.from(vector).buffer).toString('base64');
    assert.deepEqual(entry.query.queries, [
      { weight: 2, q: 'whale' },
      { weight: 1, v_base64: base64 },
      { weight: 1, like: { docids: ['D7'], chunks: [], not: { docids: [], chunks: [] } } },
    ]);
    assert.deepEqual(entry.query.fusion, { method: 'score', depth: 50 });
    const { json: replay } = await call('POST', `${PATH}/queries/${first.query_id}/replay`);
    assert.deepEqual(replay.matches, first.matches);
  }
});

const several = (...queries: object[]): object => ({ queries });
const REFUSED: [string, object, RegExp][] = [
  ['no queries', several(), /queries/],
  ['nine queries', several(...Array(9).fill({ q: 'sea' })), /queries/],
  ['queries beside a text', { q: 'sea', ...several({ q: 'sea' }) }, /exactly one of/],
  ['a query without anything', several({ q: 'sea' }, {}), /queries.1: .*exactly one of/],
  ['a query of two kinds', several({ q: 'sea', like: { docids: ['D1'] } }), /queries.0: .*exactly one of/],
  ['an empty text', several({ q: ' ' }), /queries.0.q: .*must not be empty/],
  ['examples that are not stored', several({ q: 'sea' }, { like: { docids: ['NONE'] } }), /queries.1.like.docids.0/],
  ['a field that a query does not have', several({ q: 'sea', k: 3 }), /k/],
  ['weights that are all 0', several({ q: 'sea', weight: 0 }), /At least one of the weights/],
  ['a zero vector', several({ v: Array(512).fill(0) }), /queries.0.v: .*zero vector/],
  ['base64 that is none', several({ v_base64: '**' }), /queries.0.v_base64/],
  [
    'a fusion of halves in mode vector',
    several({ q: 'sea', fusion: { method: 'rank' } }),
    /queries.0.fusion: .*hybrid only/,
  ],
  [
    'weights of halves',
    { ...several({ q: 'sea' }), fusion: { method: 'rank', weights: { vector: 1, lexical: 1 } } },
    /give each query its `weight`/,
  ],
  ['a constant of method score', { ...several({ q: 'sea' }), fusion: { method: 'score', k: 3 } }, /method `rank` only/],
  [
    'too little depth',
    { ...several({ q: 'sea' }), k: 9, offset: 2, fusion: { method: 'rank', depth: 10 } },
    /which is 11/,
  ],
  ['a depth without queries', { q: 'sea', mode: 'hybrid', fusion: { method: 'rank', depth: 10 } }, /`queries` only/],
  ['a relevance', { ...several({ q: 'sea' }), relevance: true }, /one query/],
  ['a reranker', { ...several({ q: 'sea' }), rerank: { instance: 'x' } }, /one query/],
  ['the common collection', { ...several({ q: 'sea' }), include_common: true }, /one query/],
];
for (const [name, body, message] of REFUSED) {
  test(`422 for ${name}`, async () => {
    const { status, json } = await (servers[1] as TestServer).call('POST', `${PATH}/search`, body);
    assert.deepEqual([status, json.code], [422, 'validation_error'], json.error);
    assert.match(json.error, message);
  });
}

test('modes and vectors that do not fit a query, and the shared scope', async () => {
  const { call } = servers[0] as TestServer;
  const search = (body: object): ReturnType<typeof call> => call('POST', `${PATH}/search`, body);
  await refused(search(several({ v: [1, 2, 3] })), 422, 'dim_mismatch');
  await refused(search(several({ like: { docids: ['D1'] }, mode: 'hybrid' })), 422, 'search_mode_requires_text');
  await refused(search(several({ q: 'sea', mode: 'best' })), 422, 'invalid_search_mode');
  await refused(call('POST', '/v1/search', several({ q: 'sea' }, { v: [1] })), 400, 'vector_query_not_allowed');
});

test('the same after a restart', async () => {
  const stopped = servers.pop() as TestServer;
  await stopped.stop();
  servers = [...servers, await start('2')];
  await assertLikeSeparate(8);
});
