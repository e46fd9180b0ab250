// What recall the searches of an index have: a sample of its rows is searched by a walk and by a scan. A slice of work
// for each `next()`, so that the owner can do other things between. Owner's thread; used by tending.ts.
import type { Hits, SearchOptions } from '../hits.js';

/** What is checked: the index, as far as it is needed. */
export interface Checked {
  readonly end: number;
  isLive(ordinal: number): boolean;
  /** The row as a vector to search for. */
  rowOf(ordinal: number): Float32Array;
  search(query: Float32Array, k: number, options: SearchOptions): Hits;
}

/** A row and what is nearest to it: the scores of the `K` best beside itself, best first. */
interface Sampled {
  readonly ordinal: number;
  readonly query: Float32Array;
  readonly kth: number;
}

const K = 10;
const SAMPLES = 100;
/** Rows that a slice scans. */
const SLICE_ROWS = 8192;
/** Scores of the same rows are the same; others as near as this are as good. */
const TIE = 1e-6;

/** The sample, spread over all rows. */
export function* sampleRows(index: Checked): Generator<undefined, Sampled[]> {
  const step = Math.max(1, Math.floor(index.end / SAMPLES));
  const samples: Sampled[] = [];
  for (let ordinal = step >>> 1; ordinal < index.end; ordinal += step) {
    if (!index.isLive(ordinal)) continue;
    const query = index.rowOf(ordinal);
    const scores = yield* scan(index, query, ordinal);
    if (scores.length > 0) samples.push({ ordinal, query, kth: scores[Math.min(K, scores.length) - 1] as number });
  }
  return samples;
}

/** The best scores of all rows but one. */
function* scan(index: Checked, query: Float32Array, without: number): Generator<undefined, number[]> {
  let best: number[] = [];
  for (let from = 0; from < index.end; from += SLICE_ROWS) {
    const allowed = new Uint32Array((from + SLICE_ROWS) >>> 5);
    allowed.fill(0xffffffff, from >>> 5);
    const { ordinals, scores } = index.search(query, K + 1, { allowed, exact: true });
    best = [...best, ...scores.filter((_, i) => ordinals[i] !== without)].sort((a, b) => b - a).slice(0, K);
    yield;
  }
  return best;
}

/** The mean share of the nearest that walks of breadth `ef` find; 1 without a sample. */
export function* recallAt(index: Checked, samples: readonly Sampled[], ef: number): Generator<undefined, number> {
  let sum = 0;
  for (const { ordinal, query, kth } of samples) {
    const { ordinals, scores } = index.search(query, K + 1, { ef });
    sum += Math.min(1, scores.filter((score, i) => ordinals[i] !== ordinal && score >= kth - TIE).length / K);
    yield;
  }
  return samples.length > 0 ? sum / samples.length : 1;
}
