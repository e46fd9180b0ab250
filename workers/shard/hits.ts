// What an index of vectors answers to a search, and what a search may ask for: copies out of shared memory, and plain
// options. Used by VectorIndex and whoever asks it, on the thread that asks.
import type { Instance } from './instance.js';
import type { Bitmap } from './words/word-answers.js';

/** Hits, best first, equal scores by ordinal. Copies: they stay as they are whatever is written later. */
export interface Hits {
  readonly count: number;
  readonly ordinals: Uint32Array;
  /** The version of the row each hit saw: compare with `stampOf` to know whether the ordinal still holds it. */
  readonly stamps: Uint32Array;
  /** Cosines, in [-1, 1]. */
  readonly scores: Float32Array;
}

export interface SearchOptions {
  /**
   * Breadth of the walk through the graph, where there is one; raised to k. Chosen by default; then small indexes and
   * few matches are scanned.
   */
  readonly ef?: number | undefined;
  /** Score every row that may be answered. */
  readonly exact?: boolean | undefined;
  /**
   * What share of all rows that are searched the index has, 1 where it is left out: a walk for the best of all is less
   * broad in each of many indexes.
   */
  readonly share?: number | undefined;
  /** The rows that may be answered; all where it is left out. */
  readonly allowed?: Bitmap | undefined;
}

/** The first `count` hits. */
export function firstHits({ ordinals, stamps, scores }: Hits, count: number): Hits {
  return {
    count,
    ordinals: ordinals.subarray(0, count),
    stamps: stamps.subarray(0, count),
    scores: scores.subarray(0, count),
  };
}

/** The hits that a search for `k` left in the output of an instance. */
export function readHits(instance: Instance, k: number, count: number): Hits {
  const { output } = instance;
  return {
    count,
    ordinals: instance.copyWords(output, count),
    stamps: instance.copyWords(output + 4 * k, count),
    scores: instance.copyFloats(output + 8 * k, count),
  };
}
