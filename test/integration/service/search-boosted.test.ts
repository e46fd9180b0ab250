// Searches whose best hits are boosted by their metadata, against a naive version: in every mode, with filters, groups,
// pages and lowest scores, with and without front threads, over a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { naiveRanking, type NaiveChunk, type NaiveQuery } from '../../kit/service/naive-search.js';
import { FILTERS, PATH, chunksFor, fill, pick, randomDocument, sentence } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 20_261_129;
const MODES = ['vector', 'boost', 'hybrid'] as const;
const DAY_MS = 86_400_000;

const prng = createPrng(SEED);
const directory = tempDirectory();
const start = (fronts: string): Promise<TestServer> =>
  startTestServer({ SHEAF_SERVER__THREADS: fronts, ...(fronts === '2' && { SHEAF_DATA_DIR: directory }) });
let servers = await Promise.all(['0', '2'].map(start));
await fill(
  servers,
  Array.from({ length: 110 }, (_, i) => {
    const document = randomDocument(prng, `D${i}`);
    if (prng.int(2) === 0)
      document.metadata.seen = new Date(Date.UTC(2026, 0, 1) + prng.int(900) * DAY_MS).toISOString();
    if (prng.int(2) === 0) document.metadata.reads = pick<unknown>(prng, [0, 3, 1e12, '250', -8, [1, '9', 'x'], 1e308]);
    return document;
  }),
);

type Given = { value?: unknown; gives: number };

/** What a field gives, by the formulas of Elasticsearch's function_score. */
function naiveGiven(field: any, meta: Record<string, any>): Given {
  const stored: unknown[] = [meta[field.field]].flat();
  const decimal = (value: unknown): number | undefined =>
    typeof value === 'number'
      ? value
      : typeof value === 'boolean' || value === 'true' || value === 'false'
        ? Number(String(value) === 'true')
        : typeof value === 'string' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value)
          ? Number(value)
          : undefined;
  const time = (value: unknown): number | undefined =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\d(T.*)?$/.test(value) ? Date.parse(value) : undefined;
  const days = (extent: string | undefined): number => (extent === undefined ? 0 : Number(extent.slice(0, -1)));
  const isTime = typeof field.origin === 'string';
  let best: Given | undefined;
  for (const value of stored) {
    const number = isTime ? time(value) : decimal(value);
    if (number === undefined) continue;
    const gives = Math.min(1e9, Math.max(-1e9, naiveCurve(number)));
    if (!best || gives > best.gives) best = { value, gives };
  }
  return best ?? { gives: field.missing ?? 0 };

  function naiveCurve(value: number): number {
    const at = field.at_scale ?? 0.5;
    if (field.decay) {
      const [origin, scale, offset] = isTime
        ? [Date.parse(field.origin), days(field.scale) * DAY_MS, days(field.offset) * DAY_MS]
        : [field.origin, field.scale, field.offset ?? 0];
      const distance = Math.max(0, Math.abs(value - origin) - offset);
      if (field.decay === 'exponential') return Math.exp((Math.log(at) / scale) * distance);
      if (field.decay === 'gaussian') return Math.exp(-(distance ** 2) / (2 * (-(scale ** 2) / (2 * Math.log(at)))));
      const reach = scale / (1 - at);
      return Math.max((reach - distance) / reach, 0);
    }
    const x = value * (field.factor ?? 1);
    if (field.modifier === 'log1p') return x < 0 ? 0 : Math.log(1 + x);
    if (field.modifier === 'sqrt') return x < 0 ? 0 : Math.sqrt(x);
    if (field.modifier === 'saturation') return x < 0 ? 0 : 1 - 1 / (1 + x);
    return x;
  }
}

const FIELDS: readonly object[] = [
  { field: 'reads', modifier: 'log1p', weight: 0.1 },
  { field: 'reads', modifier: 'saturation', factor: 0.2 },
  { field: 'reads', modifier: 'sqrt', weight: 0.001, missing: 50 },
  { field: 'reads', factor: 1e-3, weight: -0.2 },
  { field: 'year', decay: 'gaussian', origin: 2000, scale: 10, weight: 2 },
  { field: 'year', decay: 'linear', origin: 1990, scale: 15, offset: 3, at_scale: 0.2 },
  { field: 'seen', decay: 'exponential', origin: '2026-06-01T00:00:00Z', scale: '60d', offset: '7d', weight: 0.4 },
  { field: 'seen', decay: 'linear', origin: '2027-01-01', scale: '300d', missing: 0.25 },
  { field: 'when', decay: 'gaussian', origin: '2024-05-01', scale: '9000d' },
  { field: 'topic' },
  { field: 'offset', decay: 'exponential', origin: 0, scale: 100 },
  { field: 'none', missing: 2 },
];

interface Boosted {
  id: string;
  score: number;
  chunk: NaiveChunk;
  boost: number;
}

/** The best hits to the depth of the boost, boosted and in order. */
function naiveBoosted(all: readonly NaiveChunk[], query: NaiveQuery, boost: any): Boosted[] {
  const chunkOf = new Map(all.map((chunk) => [chunk.id, chunk]));
  const hits = naiveRanking(all, { ...query, k: boost.depth }).slice(0, boost.depth);
  const boosted = hits.map(({ id, plain = 0 }): Boosted => {
    const chunk = chunkOf.get(id) as NaiveChunk;
    const sum = boost.fields.reduce(
      (total: number, field: any) => total + naiveGiven(field, chunk.meta).gives * (field.weight ?? 1),
      0,
    );
    const score = boost.combine === 'sum' ? plain + sum : plain + Math.abs(plain) * sum;
    return { id, score: score + Math.abs(score) * chunk.priority, chunk, boost: sum };
  });
  // Equal scores keep the order of the ranking: `sort` is stable.
  return boosted.sort((a, b) => b.score - a.score);
}

async function answerOf({ call }: TestServer, body: object): Promise<any> {
  const { status, json } = await call('POST', `${PATH}/search`, body);
  assert.equal(status, 200, JSON.stringify(json));
  return json;
}

const isClose = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b));

function assertSame(found: readonly any[], expected: readonly Boosted[], what: string): void {
  assert.deepEqual(
    found.map(({ id }) => id),
    expected.map(({ id }) => id),
    what,
  );
  found.forEach(({ score }, i) => assert.ok(isClose(score, (expected[i] as Boosted).score), `${what}: hit ${i}`));
}

function randomSearch(i: number): { query: NaiveQuery; body: any; boost: any } {
  const [filter, fits] = pick(prng, FILTERS);
  const query: NaiveQuery = {
    q: sentence(prng, 1 + prng.int(3)),
    mode: MODES[i % 3]!,
    k: pick(prng, [1, 5, 12]),
    fits,
  };
  const boost = {
    fields: Array.from({ length: 1 + prng.int(3) }, () => pick(prng, FIELDS)),
    ...(prng.int(2) === 0 && { combine: pick(prng, ['sum', 'multiply'] as const) }),
    depth: pick(prng, [20, 50, 130]),
  };
  return { query, boost, body: { q: query.q, mode: query.mode, k: query.k, ...filter, boost_by: boost } };
}

async function assertLikeNaive(searches: number): Promise<void> {
  for (let i = 0; i < searches; i++) {
    const { query, body, boost } = randomSearch(i);
    const expected = naiveBoosted(await chunksFor(servers[0] as TestServer, query.q), query, boost);
    const what = `seed ${SEED}, search ${i}: ${JSON.stringify(body)}`;
    const offset = pick(prng, [0, 0, 7]);
    const least = expected[3]?.score;
    for (const server of servers) {
      const page = await answerOf(server, { ...body, offset });
      assertSame(page.matches, expected.slice(offset, offset + query.k), what);
      if (least === undefined) continue;
      const kept = expected.filter(({ score }) => score >= least).slice(0, query.k);
      const { matches } = await answerOf(server, { ...body, min_score: least - 1e-9 * Math.abs(least) });
      assertSame(matches, kept, `${what}, from the score ${least}`);
    }
  }
}

test('random searches, with pages and lowest scores', () => assertLikeNaive(60));

test('explain tells what each field gives', async () => {
  for (let i = 0; i < 12; i++) {
    const { query, body, boost } = randomSearch(i);
    const expected = naiveBoosted(await chunksFor(servers[0] as TestServer, query.q), query, boost);
    for (const server of servers)
      for (const { id, score, match_reason: reason, explain } of (await answerOf(server, { ...body, explain: true }))
        .matches) {
        const { chunk, boost: sum } = expected.find((one) => one.id === id) as Boosted;
        const told = explain.boost_by;
        assert.equal(told.combine, boost.combine ?? 'multiply');
        told.fields.forEach(({ field, value, gives, weight }: any, at: number) => {
          const own = naiveGiven(boost.fields[at], chunk.meta);
          assert.deepEqual([field, value, weight], [boost.fields[at].field, own.value, boost.fields[at].weight ?? 1]);
          assert.ok(isClose(gives, own.gives), id);
        });
        assert.ok(isClose(told.boost, sum), id);
        const boosted = explain.fused + (told.combine === 'sum' ? 1 : Math.abs(explain.fused)) * told.boost;
        assert.ok(isClose(told.score, boosted), id);
        assert.ok(isClose(score, boosted + Math.abs(boosted) * (explain.priority ?? 0)), id);
        assert.match(reason, /; boost_by: [\w, ]+, -?[\d.]+ -> -?[\d.]+/);
      }
  }
});

test('groups are formed of the boosted hits', async () => {
  for (let i = 0; i < 15; i++) {
    const { query, body, boost } = randomSearch(i);
    const expected = naiveBoosted(await chunksFor(servers[0] as TestServer, query.q), query, boost);
    const groups = new Map<string, string[]>();
    for (const { id, chunk } of expected) {
      const own = groups.get(chunk.docid) ?? [];
      if (groups.size < query.k || own.length > 0) groups.set(chunk.docid, own);
      if (own.length < 2) own.push(id);
    }
    for (const server of servers) {
      const { matches } = await answerOf(server, { ...body, group_by: 'docid', group_size: 2 });
      assert.deepEqual(
        matches.map(({ id }: any) => id),
        [...groups.values()].flat().slice(0, 2 * query.k),
        `seed ${SEED}, search ${i}: ${JSON.stringify(body)}`,
      );
    }
  }
});

test('a cursor leads through all boosted hits, at the time of its first page', async () => {
  for (const mode of MODES) {
    const boost = { fields: [{ field: 'seen', decay: 'exponential', origin: 'now', scale: '30d' }], depth: 60 };
    const body = { q: 'whale captain', mode, k: 7, boost_by: boost, explain: true };
    const found: string[] = [];
    let cursor: string | undefined = '*';
    for (let page = 0; cursor !== undefined; page++) {
      const json = await answerOf(servers[page % 2] as TestServer, { ...body, cursor });
      found.push(...json.matches.map(({ id }: any) => id));
      cursor = json.next_cursor;
    }
    assert.deepEqual([found.length, new Set(found).size], [60, 60], mode);
    const first = await answerOf(servers[0] as TestServer, { ...body, cursor: '*' });
    const [digest, offset, nowMs] = JSON.parse(Buffer.from(first.next_cursor, 'base64url').toString());
    assert.ok(Math.abs(nowMs - Date.now()) < 60_000);
    const packed = (parts: unknown[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url');
    const late = nowMs + 400 * DAY_MS;
    const later = { ...body, cursor: packed([digest, offset, late]) };
    for (const { explain } of (await answerOf(servers[1] as TestServer, later)).matches) {
      const [{ value, gives }] = explain.boost_by.fields;
      if (value === undefined) continue;
      assert.ok(isClose(gives, 0.5 ** (Math.abs(late - Date.parse(value)) / (30 * DAY_MS))), value);
    }
    const { call } = servers[0] as TestServer;
    const { status } = await call('POST', `${PATH}/search`, { ...body, cursor: packed([digest, offset]) });
    assert.equal(status, 422, 'a cursor without a time');
  }
});

test('goes with diversity, examples and the query log', async () => {
  const boost = { fields: [{ field: 'reads', modifier: 'saturation' }] };
  for (const server of servers) {
    const { call } = server;
    const plain = await answerOf(server, { q: 'sea', k: 50, boost_by: { ...boost, depth: 80 } });
    const diversity = { lambda: 1, candidates: 80 };
    const picked = await answerOf(server, { q: 'sea', k: 50, boost_by: { ...boost, depth: 80 }, diversity });
    assert.deepEqual(picked.matches, plain.matches);
    const like = await answerOf(server, { like: { docids: ['D1'] }, boost_by: boost, explain: true });
    assert.ok(like.matches.every(({ explain }: any) => explain.boost_by.fields.length === 1));
    const { json: entry } = await call('GET', `${PATH}/queries/${plain.query_id}`);
    assert.deepEqual(entry.query.boost_by, { ...boost, depth: 80 });
    const { json: replay } = await call('POST', `${PATH}/queries/${plain.query_id}/replay`);
    assert.deepEqual(replay.matches, plain.matches);
    const { json: batch } = await call('POST', `${PATH}/search:batch`, {
      searches: [
        { q: 'sea', k: 50, boost_by: { ...boost, depth: 80 } },
        { q: 'sea', boost_by: { fields: [] } },
      ],
    });
    assert.deepEqual(batch.results[0].matches, plain.matches);
    assert.equal(batch.results[1].code, 'validation_error');
  }
});

const field = (more: object): object => ({ boost_by: { fields: [{ field: 'year', ...more }] } });
const REFUSED: [string, object, RegExp][] = [
  ['no fields', { boost_by: { fields: [] } }, /fields/],
  ['nine fields', { boost_by: { fields: Array(9).fill({ field: 'year' }) } }, /fields/],
  ['another modifier', field({ modifier: 'cube' }), /modifier/],
  ['a weight beyond the bounds', field({ weight: 1e7 }), /weight/],
  ['another field', field({ wieght: 1 }), /wieght/],
  [
    'a modifier beside a decay',
    field({ decay: 'linear', origin: 1, scale: 1, modifier: 'sqrt' }),
    /does not apply beside/,
  ],
  ['a scale without a decay', field({ scale: 1 }), /beside `decay` only/],
  ['a decay without an origin', field({ decay: 'linear', scale: 1 }), /origin: .*now/],
  ['a decay without a scale', field({ decay: 'linear', origin: 1 }), /scale: .*greater than 0/],
  ['a scale of 0', field({ decay: 'linear', origin: 1, scale: 0 }), /scale: .*greater than 0/],
  ['a negative offset', field({ decay: 'linear', origin: 1, scale: 1, offset: -1 }), /offset: .*at least 0/],
  ['a number as the scale of a time', field({ decay: 'linear', origin: 'now', scale: 30 }), /length of time/],
  ['a unit that there is not', field({ decay: 'linear', origin: 'now', scale: '3y' }), /length of time/],
  ['an origin that is no time', field({ decay: 'linear', origin: 'soon', scale: '3d' }), /ISO 8601/],
  ['a value of 1 at the scale', field({ decay: 'linear', origin: 1, scale: 1, at_scale: 1 }), /at_scale/],
  [
    'too little depth',
    { k: 10, offset: 5, boost_by: { fields: [{ field: 'year' }], depth: 14 } },
    /`offset \+ k`, which is 15/,
  ],
  ['no depth for a late page', { k: 10, offset: 60, ...field({}) }, /which is 70/],
  [
    'less depth than candidates',
    { diversity: { lambda: 0.5, candidates: 60 }, boost_by: { fields: [{ field: 'year' }], depth: 50 } },
    /diversity.candidates/,
  ],
];
for (const [name, body, message] of REFUSED) {
  test(`422 for ${name}`, async () => {
    const { status, json } = await (servers[1] as TestServer).call('POST', `${PATH}/search`, { q: 'sea', ...body });
    assert.deepEqual([status, json.code], [422, 'validation_error'], json.error);
    assert.match(json.error, message);
  });
}

test('422 beside a sorted search', async () => {
  const { call } = servers[0] as TestServer;
  const { status, json } = await call('POST', `${PATH}/search`, { sort: {}, ...field({}) });
  assert.equal(status, 422);
  assert.match(json.error, /boost_by/);
});

test('the same after a restart', async () => {
  const stopped = servers.pop() as TestServer;
  await stopped.stop();
  servers = [...servers, await start('2')];
  await assertLikeNaive(9);
});
