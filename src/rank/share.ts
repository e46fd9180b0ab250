// How many of the best of a whole to expect in a part of it: what a search of many shards need not look for in each.
// Pure. Called by the search workers and the index of vectors.

/** So many standard deviations above the mean: one search in a hundred finds more in one of two parts. */
const DEVIATIONS = 2.5;

/**
 * The most of the `k` best that a part with `share` (0 to 1) of the rows has, where they are spread by chance (a
 * binomial distribution); at most k.
 */
export function hitsIn(k: number, share: number): number {
  return Math.min(k, Math.ceil(k * share + DEVIATIONS * Math.sqrt(k * share * (1 - share))));
}
