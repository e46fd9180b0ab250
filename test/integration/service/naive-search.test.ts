// The same data gives the same answer whatever the number of shards, in every mode, with and without filters, and it is
// the answer of a naive version that scores everything: over a random collection, after random replacements and
// deletions, and after the death of a worker.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { ready, startTestServer, type TestServer } from '../../kit/server.js';
import { naiveSearch, type NaiveChunk, type NaiveFusion, type NaiveQuery } from '../../kit/service/naive-search.js';

const SEED = 20_261_121;
const PATH = '/v1/collections/acme/twin';
const PLAIN = '/v1/collections/acme/plain';
const WORDS = [
  'whale',
  'captain',
  'submarine',
  'Nautilus',
  'sea',
  'café',
  'budget',
  'parliament',
  'dough',
  'oven',
  'violin',
  'graph',
  'Straße',
  '東京',
  'engine',
  'x1',
];
const DOCUMENTS = 120;

const servers = await Promise.all(
  [
    ['1', '1'],
    ['3', '3'],
    ['4', '2'],
  ].map(([shards = '', spread = '']) =>
    startTestServer({
      SHEAF_STORAGE__PARTITIONS: shards,
      SHEAF_COLLECTIONS__PARTITIONS: spread,
      SHEAF_THREADS: '3',
    }),
  ),
);
const prng = createPrng(SEED);
const pick = <T>(items: readonly T[]): T => items[prng.int(items.length)] as T;
const sentence = (words: number): string => Array.from({ length: words }, () => pick(WORDS)).join(' ');

function randomDocument(random: Prng): { text: string; metadata: Record<string, unknown> } {
  const metadata: Record<string, unknown> = {
    lang: pick(['de', 'en', 'fr']),
    year: pick([1990, 2000, '2000', 2010]),
    tags: pick([['a'], ['a', 'b'], [], 'b']),
  };
  if (random.int(4) === 0) metadata.prio_boost = pick([1, 0.5, '-0.5', -1, 0.1]);
  return { text: random.int(8) === 0 ? 'whale captain' : sentence(3 + random.int(30)), metadata };
}

const everywhere = (act: (server: TestServer, path: string) => Promise<unknown>): Promise<unknown> =>
  Promise.all(servers.flatMap((server) => [PATH, PLAIN].map((path) => act(server, path))));

async function put(docid: string): Promise<void> {
  const document = { docid, ...randomDocument(prng) };
  await everywhere(async ({ call }, path) =>
    assert.equal((await call('POST', `${path}/documents`, document)).status, 201),
  );
}

async function remove(docid: string): Promise<void> {
  await everywhere(async ({ call }, path) =>
    assert.equal((await call('DELETE', `${path}/documents/${docid}`)).status, 200),
  );
}

const fusions: (NaiveFusion | undefined)[] = [
  undefined,
  { method: 'score', weights: { vector: 0.6, lexical: 0.4 } },
  { method: 'score', weights: { vector: 0, lexical: 1 } },
  { method: 'score', weights: { vector: 2, lexical: 0 } },
  { method: 'rank', k: 0, weights: { vector: 1, lexical: 3 } },
  { method: 'rank', k: 7, weights: { vector: 0, lexical: 1 } },
];

type SearchFilter = [Record<string, unknown>, (chunk: NaiveChunk) => boolean];

const filters: SearchFilter[] = [
  [{}, () => true],
  [{ filters: { lang: 'de' } }, ({ meta }) => meta.lang === 'de'],
  [{ filters: { year: 2000, lang: ['de', 'fr'] } }, ({ meta }) => Number(meta.year) === 2000 && meta.lang !== 'en'],
  [
    { filters: { $or: [{ tags: 'b' }, { year: { $lt: 1995 } }] } },
    ({ meta }) => [meta.tags].flat().includes('b') || Number(meta.year) < 1995,
  ],
  [{ filters: { $not: { lang: 'en' }, offset: 0 } }, ({ meta }) => meta.lang !== 'en' && meta.offset === 0],
  [{ filters: { lang: 'it' } }, () => false],
  [{ content_filter: { op: 'phrase', value: 'WHALE captain' } }, ({ text }) => / whale captain /.test(` ${text} `)],
  [
    { content_filter: { op: 'contains', value: 'Cap' }, filters: { lang: 'en' } },
    ({ text, meta }) => /cap/i.test(text) && meta.lang === 'en',
  ],
];

/** Every chunk with its cosine, which the server computes in a collection without priorities. */
async function chunksFor({ call }: TestServer, q: string): Promise<NaiveChunk[]> {
  const { json } = await call('POST', `${PLAIN}/search`, { q, k: 1000, mode: 'vector' });
  return json.matches.map(({ id, text, meta, score }: any): NaiveChunk => {
    const priority = Math.max(-1, Math.min(1, Number(meta.prio_boost ?? 0)));
    const [docid, path] = id.split('::');
    return { id, docid, index: Number(path.slice('chunk_'.length)), text, meta, priority, cosine: score };
  });
}

interface Answered {
  id: string;
  score: number;
  match_reason: string;
}

async function ask({ call }: TestServer, body: object): Promise<Answered[]> {
  const { status, json } = await call('POST', `${PATH}/search`, body);
  assert.equal(status, 200, JSON.stringify(json));
  return json.matches.map(({ id, score, match_reason }: any) => ({ id, score, match_reason }));
}

async function assertLikeNaive(searches: number, when: string): Promise<void> {
  for (let i = 0; i < searches; i++) {
    // The long queries have words that occur in them more than once.
    const q = i % 10 === 0 ? '?!' : sentence(1 + prng.int(i % 4 === 0 ? 40 : 4));
    const [filter, fits] = pick(filters);
    const mode = pick(['vector', 'boost', 'hybrid', 'hybrid'] as const);
    const fusion = mode === 'hybrid' ? pick(fusions) : undefined;
    const query: NaiveQuery = { q, mode, k: pick([1, 3, 10, 40]), fits, ...(fusion && { fusion }) };
    const what = `seed ${SEED}, ${when}, search ${i}: ${JSON.stringify({ ...query, ...filter })}`;
    const [one, ...others] = await Promise.all(
      servers.map((server) => ask(server, { q, mode, k: query.k, ...filter, ...(fusion && { fusion }) })),
    );
    for (const other of others) assert.deepEqual(other, one, what);
    const expected = naiveSearch(await chunksFor(servers[0] as TestServer, q), query);
    assert.deepEqual(
      one?.map(({ id }) => id),
      expected.map(({ id }) => id),
      what,
    );
    one.forEach(({ score }, at) => assert.ok(Math.abs(score - (expected[at]?.score ?? NaN)) < 1e-9, what));
  }
}

test('a random collection', async () => {
  const chunking = { strategy: 'fixed', size: 80, overlap: 10 };
  await everywhere(({ call }, path) =>
    call('POST', path, { chunking, ...(path === PLAIN && { priority_key: 'no_priority' }) }),
  );
  const documents = Array.from({ length: DOCUMENTS }, (_, i) => ({ docid: `D${i}`, ...randomDocument(prng) }));
  await everywhere(async ({ call }, path) =>
    assert.equal((await call('POST', `${path}/documents:batch`, { documents })).json.succeeded, DOCUMENTS),
  );
  assert.ok(
    (await chunksFor(servers[0] as TestServer, 'sea')).length > 200,
    'more chunks than the depth of the rankings',
  );
  await assertLikeNaive(60, 'after ingest');
});

test('the same after random replacements and deletions', async () => {
  for (let i = 0; i < 60; i++) await (prng.int(3) === 0 ? remove : put)(`D${prng.int(DOCUMENTS)}`);
  await assertLikeNaive(40, 'after churn');
});

test('and after the death of a worker', async () => {
  const server = servers[1] as TestServer;
  await server.parts.shards.kill(1);
  await ready(server);
  await assertLikeNaive(30, 'after a death');
});
