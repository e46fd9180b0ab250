// What a walk does under a filter: it scores admitted nodes alone, and where a node has few of them for neighbours it
// takes the admitted neighbours of the others (ACORN-1, Patel et al. 2024; as Lucene, only where the neighbourhood is
// thin). A bounded number of the others are bridges: scored and expanded, never answered. Without them the walk ends at
// the first gap. Used by walk.ts on any thread.
import {
  BATCH,
  BATCH_ROWS,
  BRIDGES_LEFT,
  BRIDGES_MAX,
  COPIES_ASKED,
  NONE,
  SCRATCH_POOL,
  SEEDS,
  TWO_HOP_MIN,
} from '../layout';
import { allowedBits, countAllowed, filterEnd, isAllowed } from './allowed';
import { putInBatch } from './batch';
import { copyAfter, isCopy, NO_COPY } from './copies';
import { isLinked } from './graph';
import { linkIn, widthOf } from './links';
import { nearAt, NEAR_LIVE, nearOrdinal } from './near';
import { isLive, listAt } from './rows';
import { areaAt } from './scratch';
import { visit } from './visited';

/**
 * True for a node whose row the filter admits, or one of its copies; and where there are many, whatever they are.
 * @inline
 */
function admits(scratch: usize, root: usize, node: u32): bool {
  return isAllowed(scratch, node) || admitsCopy(scratch, root, node);
}

function admitsCopy(scratch: usize, root: usize, node: u32): bool {
  let asked: u32 = 0;
  for (let copy = copyAfter(root, node); copy != NO_COPY; copy = copyAfter(root, copy)) {
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
