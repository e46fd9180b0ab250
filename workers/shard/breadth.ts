// How broad a walk through the graph is when a search names no breadth: enough for the recall that is kept
// (codes/tending.ts), and no walk at all where a scan is as fast. Any thread; asked by VectorIndex.
import { hitsIn } from '../../src/rank/share.js';
import { RERANK_MIN, RERANK_PER_HIT, RERANK_SHARE } from './codes/layout.js';
import type { Instance } from './instance.js';
import { ROOT_EF, ROOT_WATERMARK, WALK_ROWS_PER_EF } from './layout.js';

/**
 * A filtered walk is as many times as broad, less so where this share matches, and takes the place of a scan of as many
 * times the matches.
 */
const FILTERED_BREADTH = 4;
const WIDE_BREADTH = 1.5;
const WIDE_SHARE = 0.25;
const FILTERED_SCAN = 3;
/**
 * An index with a share of all rows that are searched walks as broad as the root of the share, down to this: with 2, 4
 * and 8 of them recall stays that of one (load/partitions.ts).
 */
const SHARED_MIN = 16;

/** For the `k` best of all rows that are searched, of which the index at `root` has `share`; 0 for a scan. */
export function breadthOf(instance: Instance, root: number, k: number, share: number): number {
  const breadth = Math.max(
    SHARED_MIN,
    Math.ceil(instance.word(root + ROOT_EF) * Math.sqrt(share)),
    2 * hitsIn(k, share),
  );
  return instance.word(root + ROOT_WATERMARK) < WALK_ROWS_PER_EF * breadth ? 0 : breadth;
}

/** The same under the filter of `end` ordinals that has been set. */
export function filteredBreadthOf(instance: Instance, root: number, k: number, end: number): number {
  const narrowest = instance.word(root + ROOT_EF);
  const linked = instance.word(root + ROOT_WATERMARK);
  const rows = instance.calls.countAllowed(instance.scratch, Math.min(end, linked));
  if (rows < WALK_ROWS_PER_EF * Math.max(FILTERED_SCAN * narrowest, 2 * k)) return 0;
  return Math.max(Math.ceil((rows < WIDE_SHARE * linked ? FILTERED_BREADTH : WIDE_BREADTH) * narrowest), 2 * k);
}

/** How many of the candidates of a walk are scored by their rows. */
export const rerankOf = (breadth: number, k: number): number =>
  Math.max(RERANK_PER_HIT * k, Math.ceil(RERANK_SHARE * breadth) + RERANK_MIN);
