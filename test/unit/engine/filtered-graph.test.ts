// The recall of graph searches under a filter: where the filter is independent of the vectors, where it keeps one
// region near the query or far from it, among duplicate vectors, removed rows and unindexed rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import type { Bitmap } from '../../../src/engine/filter/bitmap.js';
import { build, DIM, indexAll, put, ROWS, searchWithin, type Pair } from '../../kit/engine/graph.js';
import { clusteredVectors, randomBitmap } from '../../kit/engine/arena.js';
import { assertSound, recallOf } from '../../kit/engine/naive-vector-index.js';

const EF = 128;
const QUERIES = 60;

/**
 * Forces graph searches whatever the number of matches, and asserts that every answer is sound and that the mean
 * recall@10 is high.
 */
function assertFilteredRecall({ index, naive }: Pair, allowed: Bitmap, next: () => Float32Array, label: string): void {
  const some = naive.within(allowed);
  let sum = 0;
  for (let i = 0; i < QUERIES; i++) {
    const query = next();
    const hits = searchWithin(index, query, EF, allowed);
    assertSound(index, some, query, 10, hits, label);
    sum += recallOf(some, query, 10, hits);
  }
  assert(sum / QUERIES >= 0.95, `${label}: recall@10 ${sum / QUERIES}`);
}

/** A bitmap of the `count` rows nearest to a vector. */
function region({ index }: Pair, centre: Float32Array, count: number): Bitmap {
  const bitmap = new Uint32Array(Math.ceil(ROWS / 32));
  for (const ordinal of index.search(centre, count, { exact: true }).ordinals)
    bitmap[ordinal >>> 5]! |= 1 << (ordinal & 31);
  return bitmap;
}

/** A query that differs from a vector, or from its opposite, by half of another vector. */
function beside(vector: Float32Array, other: Float32Array, sign: 1 | -1): Float32Array {
  return vector.map((value, i) => sign * value + 0.5 * (other[i] as number));
}

function clusteredPair(prng: Prng): { pair: Pair; next: () => Float32Array } {
  const next = clusteredVectors(prng, DIM, 40, 0.7);
  return { pair: build(next), next };
}

test('filters that are independent of the vectors', () => {
  const prng = createPrng(31);
  const { pair, next } = clusteredPair(prng);
  for (const share of [0.9, 0.6, 0.4, 0.2, 0.1, 0.05])
    assertFilteredRecall(pair, randomBitmap(prng, ROWS, share), next, `share ${share}`);
});

test('filters that keep one region, for queries in it and far from it', () => {
  const { pair, next } = clusteredPair(createPrng(32));
  for (const share of [0.5, 0.2, 0.1, 0.05]) {
    const centre = next();
    const allowed = region(pair, centre, share * ROWS);
    assertFilteredRecall(pair, allowed, next, `region of ${share}`);
    assertFilteredRecall(pair, allowed, () => beside(centre, next(), 1), `queries in a region of ${share}`);
    assertFilteredRecall(pair, allowed, () => beside(centre, next(), -1), `queries opposite of a region of ${share}`);
  }
});

test('filters over duplicate vectors, removed rows and unindexed rows', () => {
  const prng = createPrng(33);
  const { pair, next } = clusteredPair(prng);
  const few = Array.from({ length: 20 }, next);
  for (let i = 0; i < ROWS; i++)
    put(pair, prng.int(ROWS), prng.int(3) === 0 ? (few[prng.int(few.length)] as Float32Array) : next());
  for (let i = 0; i < ROWS / 4; i++) {
    const ordinal = prng.int(ROWS);
    if (pair.index.isLive(ordinal)) pair.index.remove(ordinal);
    pair.naive.remove(ordinal);
  }
  for (const state of ['waiting', 'linked']) {
    for (const share of [0.5, 0.1]) {
      assertFilteredRecall(pair, randomBitmap(prng, ROWS, share), next, `${state}, share ${share}`);
      assertFilteredRecall(
        pair,
        randomBitmap(prng, ROWS, share),
        () => few[prng.int(few.length)] as Float32Array,
        `${state}, copies, share ${share}`,
      );
    }
    indexAll(pair.index);
  }
});
