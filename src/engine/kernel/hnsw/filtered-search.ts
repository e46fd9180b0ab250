// What a walk does under a filter: it scores admitted nodes alone, and where a node has few of them for neighbours it
// takes the admitted neighbours of the others (ACORN-1, Patel et al. 2024; as Lucene, only where the neighbourhood is
// thin). A bounded number of the others are bridges: scored and expanded, never answered. Without them the walk ends at
// the first gap. Any thread.
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
import { copyAfter, isCopy } from './duplicate-vectors';
import { isLinked, linkIn, widthOf } from './graph';

/**
 * A node with fewer neighbours that the filter admits is expanded to the neighbours of the others, until there are so
 * many; at most 32. 10 took recall@10 from .97 to .87 where the queries are far from a tenth of 60,000 rows that match,
 * at a rate a sixth higher.
 */
const TWO_HOP_MIN = 20;
/** Of these others a walk scores and expands the first this many. */
const BRIDGES_MAX = 64;
/** Admitted nodes, spread over all of them, that a filtered walk starts from beside the node nearest to the query. */
const SEEDS = 32;
/** Of a node's copies the filter is asked about this many; a node with more is looked into. */
const COPIES_ASKED = 16;

// The filter of a search: a bitmap of the ordinals it may answer, one bit an ordinal, in the scratch of the thread that
// searches. The caller wrote it there.

/** `end` is the number of ordinals in the bitmap, a multiple of 32; NONE for a search without a filter. @inline */
export function setFilter(scratch: usize, end: u32): void {
  store<u32>(scratch, end, ALLOWED_END);
}

/** @inline */
export function isFiltered(scratch: usize): bool {
  return load<u32>(scratch, ALLOWED_END) != NONE;
}

/** True without a filter. @inline */
export function isAllowed(scratch: usize, ordinal: u32): bool {
  const end = load<u32>(scratch, ALLOWED_END);
  if (end == NONE) return true;
  return (
    ordinal < end &&
    ((load<u8>(areaAt(scratch, SCRATCH_ALLOWED) + (<usize>ordinal >> 3)) >> (<u8>ordinal & 7)) & 1) != 0
  );
}

/** The bits of 32 ordinals from 32 * `word` on, without those at or above `end`. Requires a filter. @inline */
export function allowedBits(scratch: usize, word: u32, end: u32): u32 {
  const bits = load<u32>(areaAt(scratch, SCRATCH_ALLOWED) + ((<usize>word) << 2));
  const left = end - (word << 5);
  return left >= 32 ? bits : bits & ((1 << left) - 1);
}

/** Where the filter ends for rows below `rowsEnd`. @inline */
export function filterEnd(scratch: usize, rowsEnd: u32): u32 {
  return min(rowsEnd, load<u32>(scratch, ALLOWED_END));
}

/** Ordinals below `end` in a bitmap of at least as many. */
export function countAllowed(scratch: usize, end: u32): u32 {
  let count: u32 = 0;
  for (let word: u32 = 0; word << 5 < end; word++) count += popcnt(allowedBits(scratch, word, end));
  return count;
}

/** Rows that there are to be found. */
export function reachable(scratch: usize, root: usize): u32 {
  return isFiltered(scratch)
    ? countLiveAllowed(scratch, root, atomic.load<u32>(root, ROOT_ROWS_END))
    : atomic.load<u32>(root, ROOT_LIVE);
}

/** Live rows that the filter admits. */
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
 * True for a node whose row the filter admits, or one of its copies; and where there are many, whatever they are.
 * @inline
 */
function admits(scratch: usize, root: usize, node: u32): bool {
  return isAllowed(scratch, node) || admitsCopy(scratch, root, node);
}

function admitsCopy(scratch: usize, root: usize, node: u32): bool {
  let asked: u32 = 0;
  for (let copy = copyAfter(root, node); copy != NONE; copy = copyAfter(root, copy)) {
    if (asked++ == COPIES_ASKED || isAllowed(scratch, copy)) return true;
  }
  return false;
}

/** True for a node with a live row that the filter admits: its own or a copy. */
export function isAnswer(scratch: usize, root: usize, node: u32): bool {
  return (isAllowed(scratch, node) && isLive(root, node)) || admitsCopy(scratch, root, node);
}

/** Keeps of `size` candidates those that may be answered, in their order; answers how many. */
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
 * Puts nodes that are spread over all that the filter admits into BATCH, behind `start`: what lies far from the query,
 * or in islands, is found from there.
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
      if (ordinal == start || !isLinked(root, ordinal) || isCopy(root, ordinal) || !visit(scratch, ordinal)) continue;
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

/** Gathers the nodes to be scored after one of level 0 into BATCH and answers their number. */
export function collectAllowed(scratch: usize, root: usize, node: u32, rowsEnd: u32): u32 {
  const list = listAt(root, node, 0);
  let found = gather(scratch, root, list, rowsEnd, 0, true);
  let bridges: u32 = 0;
  for (let slot: u32 = 0; slot < widthOf(0) && found >> 16 < <u32>TWO_HOP_MIN; slot++) {
    const other = linkIn(list, slot);
    if (other == NONE) break;
    // One that has been met, and is not admitted, has led to its neighbours already.
    if (other >= rowsEnd || admits(scratch, root, other) || !visit(scratch, other)) continue;
    putInBatch(scratch, BATCH_ROWS - ++bridges, other);
    found = gather(scratch, root, listAt(root, other, 0), rowsEnd, found, false);
  }
  return addBridges(scratch, found & 0xffff, bridges);
}

/**
 * Adds the admitted nodes of a list to BATCH, those not met before; answers how many were admitted << 16 | how many are
 * in BATCH. Copies are asked about in near lists alone: their words lie far apart, and a node met in two hops is soon
 * met in one.
 * @inline
 */
function gather(scratch: usize, root: usize, list: usize, rowsEnd: u32, before: u32, near: bool): u32 {
  let found = before;
  for (let slot: u32 = 0; slot < widthOf(0); slot++) {
    const next = linkIn(list, slot);
    if (next == NONE) break;
    if (next >= rowsEnd || !(near ? admits(scratch, root, next) : isAllowed(scratch, next))) continue;
    putInBatch(scratch, found & 0xffff, next);
    found += 0x10000 + visit(scratch, next);
  }
  return found;
}

/**
 * Moves bridges, as far as the walk has some left, from the end of BATCH behind the `count` nodes in it; answers how
 * many nodes are there then.
 */
function addBridges(scratch: usize, count: u32, bridges: u32): u32 {
  const left = load<u32>(scratch, BRIDGES_LEFT);
  const used = min(left, bridges);
  store<u32>(scratch, left - used, BRIDGES_LEFT);
  const batch = scratch + BATCH;
  memory.copy(batch + ((<usize>count) << 2), batch + ((<usize>(BATCH_ROWS - used)) << 2), (<usize>used) << 2);
  return count + used;
}
