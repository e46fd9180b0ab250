// The naive version of the vector index: a map from ordinal to a row of 16-bit or 8-bit numbers, quantized as the
// kernel does and scored one by one; and the assertions that compare an index with it.
import assert from 'node:assert/strict';
import type { Hits } from '../../../src/engine/hnsw/search-plan.js';
import type { Bitmap } from '../../../src/engine/filter/bitmap.js';
import type { VectorIndex } from '../../../src/engine/hnsw/vector-index.js';

/** The largest error of a cosine score: products are exact, scores are float32. */
export const SCORE_TOLERANCE = 1e-6;
/** The largest difference that rounding to 16-bit numbers makes to a cosine. */
export const ROUNDING_TOLERANCE = 1e-4;

/** Whole numbers, and the value that 1 of them stands for. */
interface Row {
  readonly numbers: Float64Array;
  readonly unit: number;
}

export class NaiveIndex {
  readonly rows = new Map<number, Row>();

  constructor(private readonly precision: 'int16' | 'int8' = 'int16') {}

  put(ordinal: number, vector: Float32Array): void {
    this.rows.set(ordinal, this.precision === 'int16' ? wide(vector) : narrow(vector));
  }

  remove(ordinal: number): void {
    this.rows.delete(ordinal);
  }

  /** The naive version of an index that holds only the allowed rows: what a filtered search covers. */
  within(allowed: Bitmap): NaiveIndex {
    const some = new NaiveIndex(this.precision);
    for (const [ordinal, row] of this.rows)
      if (((allowed[ordinal >>> 5] ?? 0) >>> (ordinal & 31)) & 1) some.rows.set(ordinal, row);
    return some;
  }

  score(ordinal: number, query: Float32Array): number {
    const row = this.rows.get(ordinal);
    assert(row, `row ${ordinal} is live`);
    return dot(row, wide(query));
  }

  /** Ordinals and scores of the k nearest, best first. */
  search(query: Float32Array, k: number): { ordinal: number; score: number }[] {
    const wanted = wide(query);
    const scored = [...this.rows].map(([ordinal, row]) => ({ ordinal, score: dot(row, wanted) }));
    return scored.sort((a, b) => b.score - a.score || a.ordinal - b.ordinal).slice(0, k);
  }
}

/**
 * Asserts what holds for every answer, exact or not: k different live rows, or all rows where there are fewer, best
 * first, with the right scores and row versions.
 */
export function assertSound(
  index: VectorIndex,
  naive: NaiveIndex,
  query: Float32Array,
  k: number,
  hits: Hits,
  label: string,
): void {
  assert.equal(hits.count, Math.min(k, naive.rows.size), `${label}: count`);
  assert.equal(new Set(hits.ordinals).size, hits.count, `${label}: different rows`);
  for (let i = 0; i < hits.count; i++) {
    const [ordinal, score] = [hits.ordinals[i] as number, hits.scores[i] as number];
    assert(Math.abs(score - naive.score(ordinal, query)) <= SCORE_TOLERANCE, `${label}: score of ${ordinal}`);
    assert.equal(hits.rowVersions[i], index.rowVersionOf(ordinal), `${label}: row version of ${ordinal}`);
    if (i > 0) assert(inOrder(hits, i - 1), `${label}: order at ${i}`);
  }
}

/** Asserts that the answer is sound, and that no row outside of it is nearer than its last row. */
export function assertExact(
  index: VectorIndex,
  naive: NaiveIndex,
  query: Float32Array,
  k: number,
  hits: Hits,
  label: string,
): void {
  assertSound(index, naive, query, k, hits, label);
  naive.search(query, k).forEach(({ score }, i) => {
    assert(Math.abs((hits.scores[i] as number) - score) <= 2 * SCORE_TOLERANCE, `${label}: score at ${i}`);
  });
}

/** The share of the true k nearest among the hits; rows as near as the k-th count as true. */
export function recallOf(naive: NaiveIndex, query: Float32Array, k: number, hits: Hits): number {
  const floor = naive.search(query, k).at(-1)?.score ?? -Infinity;
  const found = hits.ordinals.filter((ordinal) => naive.score(ordinal, query) >= floor - SCORE_TOLERANCE);
  return Math.min(1, found.length / Math.min(k, naive.rows.size));
}

function inOrder({ scores, ordinals }: Hits, i: number): boolean {
  const [a, b] = [scores[i] as number, scores[i + 1] as number];
  return a > b || (a === b && (ordinals[i] as number) < (ordinals[i + 1] as number));
}

const rowOf = (numbers: Float64Array): Row => ({ numbers, unit: 1 / Math.hypot(...numbers) });

/** The row of a vector in 16-bit precision: scaled to length 32767, then rounded. */
function wide(vector: Float32Array): Row {
  const scale = 32767 / Math.hypot(...vector);
  return rowOf(Float64Array.from(vector, (value) => Math.round(value * scale)));
}

/** The row of a vector in 8-bit precision: its largest number is scaled to 127. */
function narrow(vector: Float32Array): Row {
  const scale = 127 / Math.max(...vector.map(Math.abs));
  return rowOf(Float64Array.from(vector, (value) => Math.round(value * scale)));
}

function dot(a: Row, b: Row): number {
  const product = a.numbers.reduce((sum, value, i) => sum + value * (b.numbers[i] as number), 0) * a.unit * b.unit;
  return Math.max(-1, Math.min(1, product));
}
