// Graph search under a filter. It scores the nodes that the filter admits, and where a node has few admitted
// neighbours, the admitted neighbours of the others as well (ACORN-1, Patel et al. 2024; only in sparse neighbourhoods,
// as in Lucene). A bounded number of nodes that are not admitted serve as bridges, which are scored and expanded but
// never returned; without them a search would end at the first gap. Any thread.
import {
  ALLOWED_END,
  BATCH,
  BATCH_ROWS,
  BRIDGES_LEFT,
  NONE,
  ROOT_LIVE,
  ROOT_ROWS_END,
  SCRATCH_ALLOWED,
  SCRATCH_POOL,
} from '../../memory/layout';
import { hasRow, isLive, listAt, putInBatch } from '../memory/row-blocks';
import { areaAt } from '../memory/scratch';
import { NEAR_LIVE, nearAt, nearOrdinal, visit } from './candidates';
import { duplicateAfter, isDuplicate } from './duplicate-vectors';
import { edgeIn, isIndexed, widthOf } from './graph';

/**
 * A node with fewer admitted neighbours is expanded to the neighbours of its neighbours until this many are found; at
 * most 32. A value of 10 lowered recall@10 from .97 to .87 for queries far from a matching tenth of 60,000 rows, and
 * raised the rate by a sixth.
 */
const TWO_HOP_MIN = 20;
/** The number of bridges that one graph search scores and expands. */
const BRIDGES_MAX = 64;
/**
 * The number of admitted nodes, spread over all of them, from which a filtered search starts in addition to the node
 * nearest to the query.
 */
const SEEDS = 32;
/**
 * The number of duplicates of a node for which the filter is checked. A node with more counts as admitted, and its
 * duplicates are checked when hits are collected.
 */
const DUPLICATES_SEEN = 16;

// The filter of a search is a bitmap with one bit for each ordinal, which the caller has written to the scratch of the
// searching thread.

/** Sets the number of ordinals in the bitmap, a multiple of 32; NONE for a search without a filter. @inline */
export function setFilter(scratch: usize, end: u32): void {
  store<u32>(scratch, end, ALLOWED_END);
}

/** @inline */
export function isFiltered(scratch: usize): bool {
  return load<u32>(scratch, ALLOWED_END) != NONE;
}

/** True for an ordinal in the bitmap, and for every ordinal without a filter. @inline */
export function isAllowed(scratch: usize, ordinal: u32): bool {
  const end = load<u32>(scratch, ALLOWED_END);
  if (end == NONE) return true;
  return (
    ordinal < end &&
    ((load<u8>(areaAt(scratch, SCRATCH_ALLOWED) + (<usize>ordinal >> 3)) >> (<u8>ordinal & 7)) & 1) != 0
  );
}

/** The bits of the 32 ordinals from 32 * `word` on, with those from `end` on cleared. Requires a filter. @inline */
export function allowedBits(scratch: usize, word: u32, end: u32): u32 {
  const bits = load<u32>(areaAt(scratch, SCRATCH_ALLOWED) + ((<usize>word) << 2));
  const left = end - (word << 5);
  return left >= 32 ? bits : bits & ((1 << left) - 1);
}

/** The end of the ordinals to check: `rowsEnd`, or the end of the bitmap if that is lower. @inline */
export function filterEnd(scratch: usize, rowsEnd: u32): u32 {
  return min(rowsEnd, load<u32>(scratch, ALLOWED_END));
}

/** The number of ordinals below `end` in the bitmap, which must cover them. */
export function countAllowed(scratch: usize, end: u32): u32 {
  let count: u32 = 0;
  for (let word: u32 = 0; word << 5 < end; word++) count += popcnt(allowedBits(scratch, word, end));
  return count;
}

/** The number of live rows that the search can return. */
export function reachable(scratch: usize, root: usize): u32 {
  return isFiltered(scratch)
    ? countLiveAllowed(scratch, root, atomic.load<u32>(root, ROOT_ROWS_END))
    : atomic.load<u32>(root, ROOT_LIVE);
}

/** The number of live rows that the filter admits. */
function countLiveAllowed(scratch: usize, root: usize, rowsEnd: u32): u32 {
  const end = filterEnd(scratch, rowsEnd);
  let count: u32 = 0;
  for (let word: u32 = 0; word << 5 < end; word++) {
    for (let bits = allowedBits(scratch, word, end); bits; bits &= bits - 1) {
      const ordinal = (word << 5) + ctz(bits);
      count += <u32>(hasRow(root, ordinal) && isLive(root, ordinal));
    }
  }
  return count;
}

/**
 * True when the filter admits the node's row or one of its duplicates, and also when there are more than
 * `DUPLICATES_SEEN` duplicates.
 * @inline
 */
function admits(scratch: usize, root: usize, node: u32): bool {
  return isAllowed(scratch, node) || admitsDuplicate(scratch, root, node);
}

function admitsDuplicate(scratch: usize, root: usize, node: u32): bool {
  let asked: u32 = 0;
  for (let duplicate = duplicateAfter(root, node); duplicate != NONE; duplicate = duplicateAfter(root, duplicate)) {
    if (asked++ == DUPLICATES_SEEN || isAllowed(scratch, duplicate)) return true;
  }
  return false;
}

/** True for a node that may lead to a hit: its row is live and admitted, or a duplicate is admitted. */
export function isAnswer(scratch: usize, root: usize, node: u32): bool {
  return (isAllowed(scratch, node) && isLive(root, node)) || admitsDuplicate(scratch, root, node);
}

/** Keeps those of `size` candidates that may lead to hits, in their order, and returns how many. */
export function keepAllowed(scratch: usize, root: usize, size: u32): u32 {
  let end = areaAt(scratch, SCRATCH_POOL);
  for (let place: u32 = 0; place < size; place++) {
    const key = nearAt(scratch, place);
    if (!isAnswer(scratch, root, nearOrdinal(key))) continue;
    store<i64>(end, key | NEAR_LIVE);
    end += 8;
  }
  return <u32>((end - areaAt(scratch, SCRATCH_POOL)) >> 3);
}

/**
 * Puts nodes spread over all that the filter admits into BATCH after `start`, and returns the number of nodes in it.
 * From them the search finds rows that are far from the query or in islands of the graph.
 */
export function collectSeeds(scratch: usize, root: usize, rowsEnd: u32, start: u32): u32 {
  store<u32>(scratch, BRIDGES_MAX, BRIDGES_LEFT);
  const end = filterEnd(scratch, rowsEnd);
  const step = max<u32>(1, countAllowed(scratch, end) / SEEDS);
  let rank = step >> 1;
  let count: u32 = 1;
  for (let word: u32 = 0; word << 5 < end; word++) {
    let bits = allowedBits(scratch, word, end);
    for (; rank < <u32>popcnt(bits) && count < <u32>BATCH_ROWS; rank += step) {
      const ordinal = (word << 5) + nthBit(bits, rank);
      if (ordinal == start || !isIndexed(root, ordinal) || isDuplicate(root, ordinal) || !visit(scratch, ordinal))
        continue;
      putInBatch(scratch, count++, ordinal);
    }
    rank -= popcnt(bits);
  }
  return count;
}

/** @inline */
function nthBit(bits: u32, n: u32): u32 {
  for (; n > 0; n--) bits &= bits - 1;
  return ctz(bits);
}

/** Collects the nodes to score after expanding `node` on level 0 into BATCH. Returns their number. */
export function collectAllowed(scratch: usize, root: usize, node: u32, rowsEnd: u32): u32 {
  const list = listAt(root, node, 0);
  let found = gather(scratch, root, list, rowsEnd, 0, true);
  let bridges: u32 = 0;
  for (let slot: u32 = 0; slot < widthOf(0) && found >> 16 < <u32>TWO_HOP_MIN; slot++) {
    const other = edgeIn(list, slot);
    if (other == NONE) break;
    // A node that is visited and not admitted has been expanded to its neighbours already.
    if (other >= rowsEnd || admits(scratch, root, other) || !visit(scratch, other)) continue;
    putInBatch(scratch, BATCH_ROWS - ++bridges, other);
    found = gather(scratch, root, listAt(root, other, 0), rowsEnd, found, false);
  }
  return addBridges(scratch, found & 0xffff, bridges);
}

/**
 * Adds those admitted nodes of a list that are not visited yet to BATCH, which holds `before`. Returns (nodes admitted
 * << 16) | nodes in BATCH. Duplicates are checked only in the lists of the node itself (`near`): their row words are
 * far apart in memory, and a node two hops away is soon met one hop away.
 * @inline
 */
function gather(scratch: usize, root: usize, list: usize, rowsEnd: u32, before: u32, near: bool): u32 {
  let found = before;
  for (let slot: u32 = 0; slot < widthOf(0); slot++) {
    const next = edgeIn(list, slot);
    if (next == NONE) break;
    if (next >= rowsEnd || !(near ? admits(scratch, root, next) : isAllowed(scratch, next))) continue;
    putInBatch(scratch, found & 0xffff, next);
    found += 0x10000 + visit(scratch, next);
  }
  return found;
}

/**
 * Moves bridges, within what the search has left, from the end of BATCH to behind its first `count` nodes. Returns the
 * number of nodes in BATCH.
 */
function addBridges(scratch: usize, count: u32, bridges: u32): u32 {
  const left = load<u32>(scratch, BRIDGES_LEFT);
  const used = min(left, bridges);
  store<u32>(scratch, left - used, BRIDGES_LEFT);
  const batch = scratch + BATCH;
  memory.copy(batch + ((<usize>count) << 2), batch + ((<usize>(BATCH_ROWS - used)) << 2), (<usize>used) << 2);
  return count + used;
}
