// The kernel's vector index, compared with its naive version on seeded random operations, with and without a graph.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { PRECISIONS, type Precision } from '../../../src/api/choices.js';
import type { Kernel } from '../../../src/engine/memory/arena.js';
import type { VectorIndex } from '../../../src/engine/hnsw/vector-index.js';
import { createKernel, randomVector, SEEDS } from '../../kit/engine/arena.js';
import { assertExact, assertSound, NaiveIndex } from '../../kit/engine/naive-vector-index.js';

const ORDINALS = 300;

interface Pair {
  index: VectorIndex;
  naive: NaiveIndex;
}

/** Applies one random operation to both. Ordinals repeat, so rows are replaced, and removed ones are put again. */
function step(prng: Prng, { index, naive }: Pair, label: string): void {
  const ordinal = prng.int(ORDINALS);
  // One vector in four occurs in several rows.
  const vector = randomVector(prng.int(4) === 0 ? createPrng(prng.int(3)) : prng, index.dim);
  const choice = prng.int(20);
  if (choice < 9) {
    index.put(ordinal, vector);
    naive.put(ordinal, vector);
  } else if (choice < 13) {
    if (index.isLive(ordinal)) index.remove(ordinal);
    naive.remove(ordinal);
  } else if (choice < 15) {
    // A row that is staged and never published: no search may see it, and its ordinal stays usable.
    if (!index.isLive(ordinal)) index.stage(ordinal, vector);
  } else if (choice < 17) {
    index.indexSome(1 + prng.int(40));
    index.densifySome(prng.int(40));
  } else {
    const k = 1 + prng.int(20);
    assertExact(index, naive, vector, k, index.search(vector, k, { exact: true }), `${label}, exact`);
    assertSound(index, naive, vector, k, index.search(vector, k, { ef: 1 + prng.int(30) }), `${label}, walk`);
  }
  assert.equal(index.liveCount, naive.rows.size, `${label}: live rows`);
}

function assertScores(prng: Prng, { index, naive }: Pair): void {
  const query = randomVector(prng, index.dim);
  const scores = index.scoresOf(query, Uint32Array.from(Array(ORDINALS).keys()));
  for (let ordinal = 0; ordinal < scores.length; ordinal++) {
    const score = scores[ordinal] as number;
    if (naive.rows.has(ordinal)) assert(Math.abs(score - naive.score(ordinal, query)) <= 1e-6, `score of ${ordinal}`);
    else assert(Number.isNaN(score), `row ${ordinal} is not live`);
  }
}

function createPair(kernel: Kernel, dim: number, graphMin: number, precision: Precision = 'int16'): Pair {
  return { index: kernel.createIndex(dim, { graphMin, precision }), naive: new NaiveIndex(precision) };
}

describe('an index agrees with its naive version', () => {
  for (const seed of SEEDS) {
    test(`several indexes in one arena, seed ${seed}`, () => {
      const prng = createPrng(seed);
      const kernel = createKernel();
      const precision = (): Precision => PRECISIONS[prng.int(PRECISIONS.length)] as Precision;
      const pairs = [1, 3, 16, 50, 384].map((dim) => createPair(kernel, dim, 1 + prng.int(100), precision()));
      for (let i = 0; i < 4000; i++) {
        const at = prng.int(pairs.length);
        step(prng, pairs[at] as Pair, `seed ${seed}, step ${i}`);
        if (prng.int(1000) > 0) continue;
        pairs[at]?.index.drop();
        pairs[at] = createPair(kernel, 1 + prng.int(70), 1 + prng.int(100), precision());
      }
      for (const pair of pairs) {
        while (pair.index.indexSome(100) > 0);
        assert.equal(pair.index.unindexedCount, 0);
        assertScores(prng, pair);
      }
    });
  }

  test('an index holds a row at a high ordinal, and vectors of the largest dimension', () => {
    const prng = createPrng(5);
    for (const [dim, ordinal] of [
      [8, 100_000],
      [65536, 3],
    ] as const) {
      const pair = createPair(createKernel(), dim, 1);
      const vector = randomVector(prng, dim);
      pair.index.put(ordinal, vector);
      pair.index.indexSome(1e6);
      const { ordinals, scores } = pair.index.search(vector, 5);
      assert.deepEqual([...ordinals], [ordinal]);
      assert(Math.abs((scores[0] as number) - 1) <= 1e-6);
    }
  });

  test('a search may have a k above ten thousand', () => {
    const prng = createPrng(6);
    const pair = createPair(createKernel(), 4, 1);
    for (let ordinal = 0; ordinal < 12_000; ordinal++) {
      const vector = randomVector(prng, 4);
      pair.index.put(ordinal, vector);
      pair.naive.put(ordinal, vector);
    }
    pair.index.indexSome(500);
    for (const k of [10_001, 11_999, 20_000]) {
      const query = randomVector(prng, 4);
      assertExact(pair.index, pair.naive, query, k, pair.index.search(query, k), `k ${k}`);
      assertSound(pair.index, pair.naive, query, k, pair.index.search(query, k, { ef: k }), `k ${k}, walk`);
    }
  });
});
