// Hybrid searches of a collection that consists of copies of a few texts: hundreds of scores are equal, and the order
// is that of a naive version over all chunks, by score and by rank, with any weights, over any number of shards.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { naiveSearch, type NaiveChunk, type NaiveFusion } from '../../kit/service/naive-search.js';

const PATH = '/v1/collections/acme/copies';
const SEED = 20_261_124;
const SIZE = 16;
const TEXTS = ['whale captain', 'whale whale', 'captain of oven', 'oven and dough', 'violin graph'];
const DOCIDS = ['a', 'a!', 'a:', 'a::b', 'B', 'z', 'z/1', '\u00e9', '\uffee', '\u{1f600}'];
const FUSIONS: NaiveFusion[] = [
  { method: 'score', weights: { vector: 0.6, lexical: 0.4 } },
  { method: 'score', weights: { vector: 0, lexical: 1 } },
  { method: 'score', weights: { vector: 1, lexical: 0 } },
  { method: 'score', weights: { vector: 1, lexical: 3 } },
  { method: 'rank', k: 60, weights: { vector: 1, lexical: 1 } },
  { method: 'rank', k: 0, weights: { vector: 1, lexical: 2 } },
  { method: 'rank', k: 60, weights: { vector: 0, lexical: 1 } },
];

const prng = createPrng(SEED);
const pick = <T>(items: readonly T[]): T => items[prng.int(items.length)] as T;
const chunkOf = (): string => pick(TEXTS).padEnd(SIZE, ' .');
const documents = Array.from({ length: 40 }, (_, n) => ({
  docid: `${DOCIDS[n % DOCIDS.length]}${n < DOCIDS.length ? '' : n}`,
  // Some documents have more than ten chunks: chunk_10 comes after chunk_9.
  text: Array.from({ length: 1 + prng.int(14) }, chunkOf).join(''),
  ...(prng.int(5) === 0 && { metadata: { prio_boost: pick([-1, -1, 0.5]) } }),
}));

async function filled(partitions: string): Promise<TestServer> {
  const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: partitions, SHEAF_THREADS: '2' });
  for (const [path, key] of [
    [PATH, 'prio_boost'],
    [`${PATH}-plain`, 'no_priority'],
  ]) {
    const settings = { chunking: { strategy: 'fixed', size: SIZE, overlap: 0 }, priority_key: key };
    assert.equal((await server.call('POST', path as string, settings)).status, 201);
    const { json } = await server.call('POST', `${path}/documents:batch`, { documents });
    assert.equal(json.failed, 0);
  }
  return server;
}

const servers = await Promise.all(['1', '2', '5'].map(filled));

/** Every chunk with its cosine, which the server computes in a collection without priorities. */
async function chunksFor(q: string): Promise<NaiveChunk[]> {
  const { json } = await (servers[0] as TestServer).call('POST', `${PATH}-plain/search`, { q, k: 1000, exact: true });
  return json.matches.map(({ id, text, meta, score }: any): NaiveChunk => {
    const at = id.lastIndexOf('::');
    const index = Number(id.slice(at + '::chunk_'.length));
    const priority = Number(meta.prio_boost ?? 0);
    return { id, docid: id.slice(0, at), index, text, meta, priority, cosine: score };
  });
}

const QUESTIONS = ['whale', 'captain', 'whale captain', 'oven whale graph', 'dough', 'violin', 'of sea'];

test('120 searches are in the order of the naive version', async () => {
  const all = new Map<string, NaiveChunk[]>();
  for (const q of QUESTIONS) all.set(q, await chunksFor(q));
  for (let i = 0; i < 120; i++) {
    const q = pick(QUESTIONS);
    const [fusion, k] = [FUSIONS[i % FUSIONS.length] as NaiveFusion, pick([1, 5, 20, 60])];
    const fits = (): boolean => true;
    const wanted = naiveSearch(all.get(q) ?? [], { q, k, mode: 'hybrid', fusion, fits }).map(({ id }) => id);
    for (const { call } of servers) {
      const asked = fusion.method === 'rank' ? fusion : { method: fusion.method, weights: fusion.weights };
      const { json } = await call('POST', `${PATH}/search`, { q, k, mode: 'hybrid', fusion: asked, exact: true });
      const found = json.matches.map(({ id }: { id: string }) => id);
      assert.deepEqual(found, wanted, `seed ${SEED}, search ${i}: ${JSON.stringify({ q, k, fusion })}`);
    }
  }
});
