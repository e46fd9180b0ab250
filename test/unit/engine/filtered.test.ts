// Filtered searches, ties and the scores of given rows, compared with the naive version on seeded random operations:
// rows that are replaced, removed, staged or unindexed, and vectors that occur in many rows.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { PRECISIONS } from '../../../src/api/choices.js';
import type { Hits } from '../../../src/engine/hnsw/search-plan.js';
import type { VectorIndex } from '../../../src/engine/hnsw/vector-index.js';
import { createKernel, randomBitmap, randomVector, SEEDS } from '../../kit/engine/arena.js';
import { assertExact, assertSound, NaiveIndex, SCORE_TOLERANCE } from '../../kit/engine/naive-vector-index.js';

const ORDINALS = 300;
const SHARES = [0, 0.01, 0.05, 0.3, 0.7, 1];

interface Pair {
  index: VectorIndex;
  naive: NaiveIndex;
}

/** Applies one random change to both. */
function change(prng: Prng, { index, naive }: Pair): void {
  const ordinal = prng.int(ORDINALS);
  // One vector in three occurs in several rows.
  const vector = randomVector(prng.int(3) === 0 ? createPrng(prng.int(3)) : prng, index.dim);
  const choice = prng.int(10);
  if (choice < 5) {
    index.put(ordinal, vector);
    naive.put(ordinal, vector);
  } else if (choice < 7) {
    if (index.isLive(ordinal)) index.remove(ordinal);
    naive.remove(ordinal);
  } else if (choice < 8) {
    if (!index.isLive(ordinal)) index.stage(ordinal, vector);
  } else {
    index.indexSome(1 + prng.int(40));
  }
}

function ask(prng: Prng, { index, naive }: Pair, label: string): void {
  const allowed = randomBitmap(prng, ORDINALS, SHARES[prng.int(SHARES.length)] as number);
  const some = naive.within(allowed);
  const query = randomVector(prng.int(3) === 0 ? createPrng(prng.int(3)) : prng, index.dim);
  const k = 1 + prng.int(30);
  assertExact(index, some, query, k, index.search(query, k, { exact: true }, { allowed }), `${label}, scan`);
  assertExact(index, some, query, k, index.search(query, k, {}, { allowed }), `${label}, planned`);
  assertSound(index, some, query, k, index.search(query, k, { ef: 1 + prng.int(30) }, { allowed }), `${label}, walk`);
  // The filter of one search must not affect the next.
  assertSound(index, naive, query, k, index.search(query, k, { ef: 1 + prng.int(30) }), `${label}, unfiltered`);
  assert.deepEqual(
    index.searchWithTies(query, k, {}, { allowed }),
    tiesOf(index.search(query, ORDINALS, { exact: true }, { allowed }), k),
    `${label}, ties`,
  );
}

/** The first k of all hits, and those with the same score as the k-th. */
function tiesOf({ ordinals, rowVersions, scores }: Hits, k: number): Hits {
  const count = scores.filter((score, i) => i < k || score === scores[k - 1]).length;
  return {
    count,
    ordinals: ordinals.slice(0, count),
    rowVersions: rowVersions.slice(0, count),
    scores: scores.slice(0, count),
  };
}

/** Asserts that the score of a row is the same number whichever way it is computed. */
function assertScoresOf(prng: Prng, { index, naive }: Pair, label: string): void {
  const query = randomVector(prng, index.dim);
  const ordinals = Uint32Array.from({ length: 50 }, () =>
    prng.int(10) === 0 ? prng.int(2 ** 32) : prng.int(ORDINALS),
  );
  const hits = index.search(query, ORDINALS, { exact: true });
  const all = new Map(Array.from(hits.ordinals, (ordinal, i): [number, number] => [ordinal, hits.scores[i] as number]));
  index.scoresOf(query, ordinals).forEach((score, i) => {
    const ordinal = ordinals[i] as number;
    assert(Object.is(score, all.get(ordinal) ?? NaN), `${label}: score of ${ordinal}`);
    if (naive.rows.has(ordinal))
      assert(Math.abs(score - naive.score(ordinal, query)) <= SCORE_TOLERANCE, `${label}: score of ${ordinal}`);
  });
}

describe('a filtered search agrees with the naive version', () => {
  for (const seed of SEEDS) {
    test(`several indexes, seed ${seed}`, () => {
      const prng = createPrng(seed);
      const kernel = createKernel();
      const precision = PRECISIONS[seed % 2];
      const pairs = [2, 16, 50, 384].map(
        (dim): Pair => ({
          index: kernel.createIndex(dim, { graphMin: 1 + prng.int(100), precision }),
          naive: new NaiveIndex(precision),
        }),
      );
      for (let i = 0; i < 4000; i++) {
        const pair = pairs[prng.int(pairs.length)] as Pair;
        const label = `seed ${seed}, step ${i}`;
        change(prng, pair);
        if (i % 8 === 0) ask(prng, pair, label);
        if (i % 50 === 0) assertScoresOf(prng, pair, label);
      }
    });
  }
});
