// Graph search: the best-first search of one level and the greedy descent to it (HNSW, Malkov & Yashunin 2016,
// algorithms 2 and 5), led by the distance estimator. Memory access dominates its time, so each hop collects the
// neighbours that are not visited and scores them together. Any thread.
import {
  BATCH,
  ENTRY_LEVEL_SHIFT,
  ENTRY_ORDINAL_MASK,
  LINE_BYTES,
  NONE,
  ROOT_TOMBSTONES,
  ROW_DUPLICATE,
  ROW_VERSION,
  SCRATCH_POOL,
  SCRATCH_VISITED,
  TOUCHED,
} from '../../memory/layout';
import { batched, listAt, putInBatch, rowWordsAt } from '../memory/row-blocks';
import { batchedScore, scoreBatch } from '../quantization/distance-estimator';
import { edgeIn, widthOf } from './graph';
import { EXPANDED, NEAR_LIVE, insertNear, nearKey, nearMax, nearOrdinal, nearScore, visit } from './candidates';
import { areaAt } from '../memory/scratch';
import { collectAllowed, collectSeeds, isAnswer } from './filtered-search';

/**
 * Descends from the entry point to `level`, going to the nearest node on each level above it. Returns a node of
 * `level`.
 */
export function descend(scratch: usize, root: usize, entry: u32, level: u32): u32 {
  let best = entry & ENTRY_ORDINAL_MASK;
  putInBatch(scratch, 0, best);
  scoreBatch(scratch, root, 1);
  let bestScore = batchedScore(scratch, 0);
  for (let at = entry >> ENTRY_LEVEL_SHIFT; at > level; at--) {
    for (let from = NONE; from != best; ) {
      from = best;
      const count = gather(scratch, listAt(root, best, at), widthOf(at));
      scoreBatch(scratch, root, count);
      for (let i: u32 = 0; i < count; i++) {
        const score = batchedScore(scratch, i);
        best = score > bestScore ? batched(scratch, i) : best;
        bestScore = max(score, bestScore);
      }
    }
  }
  return best;
}

/** Puts all neighbours of a list into BATCH and returns their number. */
function gather(scratch: usize, list: usize, width: u32): u32 {
  let count: u32 = 0;
  for (; count < width; count++) {
    const next = edgeIn(list, count);
    if (next == NONE) break;
    putInBatch(scratch, count, next);
  }
  return count;
}

/**
 * Fills the candidates with the `ef` live nodes of `level` nearest to the query that the graph leads to from `start`,
 * and with the removed nodes between them. Returns the number of candidates. Requires `prepareEstimator`, room for the
 * candidates, and a visited set cleared for `rowsEnd` rows; later rows are left out. With `filtered`, on level 0, only
 * rows that the filter admits count (filtered-search.ts). `stopAfter` is the early-stop limit: the search ends when so
 * many hops in a row bring no node that is among the `k` best. The test allows for all removed candidates and so errs
 * towards going on.
 */
export function searchLevel(
  scratch: usize,
  root: usize,
  start: u32,
  level: u32,
  ef: u32,
  rowsEnd: u32,
  filtered: bool,
  k: u32,
  stopAfter: u32,
): u32 {
  const pool = areaAt(scratch, SCRATCH_POOL);
  const width = widthOf(level);
  const capacity = nearMax(ef);
  // Without removed nodes every node is live. Row words, which are on cache lines of their own, are not read then.
  const asks = filtered || load<u32>(root, ROOT_TOMBSTONES) != 0;
  let size: u32 = 0,
    live: u32 = 0,
    idle: u32 = 0;
  let count = begin(scratch, root, start, rowsEnd, filtered);
  // If `start` is already visited, the search has scanned it; it is passed through and not returned a second time.
  let hidden = start < rowsEnd && visit(scratch, start) != 0 ? NONE : start;
  for (let place: u32 = 0; place <= size; idle++) {
    scoreBatch(scratch, root, count);
    for (let i: u32 = 0; i < count; i++) {
      const score = batchedScore(scratch, i);
      if (live >= ef && score <= nearScore(load<i64>(pool + ((<usize>(size - 1)) << 3)))) continue;
      const ordinal = batched(scratch, i);
      const counts = ordinal != hidden && (!asks || isFound(scratch, root, ordinal, filtered));
      if (size == capacity) live -= u32((load<i64>(pool + ((<usize>--size) << 3)) & NEAR_LIVE) != 0);
      const put = insertNear(pool, size++, nearKey(score, ordinal, counts));
      place = min(place, put);
      live += <u32>counts;
      if (put < k + size - live) idle = 0;
      // Drops live nodes beyond `ef`, and removed nodes after the last live one.
      for (; live >= ef; size--) {
        const isLast = (load<i64>(pool + ((<usize>(size - 1)) << 3)) & NEAR_LIVE) != 0;
        if (isLast && live == ef) break;
        live -= u32(isLast);
      }
    }
    while (place < size && load<i64>(pool + ((<usize>place) << 3)) & EXPANDED) place++;
    if (place >= size || idle >= stopAfter) break;
    const at = pool + ((<usize>place) << 3);
    const node = nearOrdinal(load<i64>(at));
    store<i64>(at, load<i64>(at) | EXPANDED);
    count = filtered
      ? collectAllowed(scratch, root, node, rowsEnd)
      : collect(scratch, listAt(root, node, level), width, rowsEnd);
    if (place + 1 < size) touchList(scratch, listAt(root, nearOrdinal(load<i64>(at + 8)), level));
  }
  return size;
}

const EARLY_STOP_LESS = 8;
const EARLY_STOP_MIN = 8;

/**
 * The early-stop limit for a search with `ef`: five eighths of `ef` less 8, but at least 8. Searches with a small `ef`
 * stop relatively sooner, because they have found most of the k best when they reach the first of them.
 * @inline
 */
export function earlyStopOf(ef: u32): u32 {
  return max<u32>((5 * ef) >> 3, EARLY_STOP_MIN + EARLY_STOP_LESS) - EARLY_STOP_LESS;
}

/** Puts the nodes that the search starts from into BATCH and returns their number. */
function begin(scratch: usize, root: usize, start: u32, rowsEnd: u32, filtered: bool): u32 {
  putInBatch(scratch, 0, start);
  return filtered ? collectSeeds(scratch, root, rowsEnd, start) : 1;
}

/** True for a live node, and for a removed node with duplicates, which are live. @inline */
function isFound(scratch: usize, root: usize, ordinal: u32, filtered: bool): bool {
  if (filtered) return isAnswer(scratch, root, ordinal);
  const words = rowWordsAt(root, ordinal);
  return (atomic.load<u32>(words, ROW_VERSION) & 1) != 0 || atomic.load<u32>(words, ROW_DUPLICATE) != 0;
}

/**
 * Puts the neighbours that are not visited yet into BATCH and returns their number. Addresses are kept in locals,
 * because graph searches spend most of their time in this loop and in scoring.
 * @inline
 */
function collect(scratch: usize, list: usize, width: u32, rowsEnd: u32): u32 {
  const visited = areaAt(scratch, SCRATCH_VISITED);
  const batch = scratch + BATCH;
  let end = batch;
  for (const listEnd = list + ((<usize>width) << 2); list < listEnd; list += 4) {
    const next = load<u32>(list);
    if (next >= rowsEnd) {
      if (next == NONE) break;
      continue;
    }
    const byte = visited + (next >> 3);
    const before: u32 = load<u8>(byte);
    store<u8>(byte, before | (1 << (next & 7)));
    store<u32>(end, next);
    end += (<usize>(((before >> (next & 7)) & 1) ^ 1)) << 2;
  }
  return <u32>((end - batch) >> 2);
}

/** Loads the neighbour list that is likely to be expanded next into the cache. @inline */
function touchList(scratch: usize, list: usize): void {
  store<u32>(scratch, load<u32>(list) ^ load<u32>(list + LINE_BYTES), TOUCHED);
}
