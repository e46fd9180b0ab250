// The candidates of a graph search and its visited set, both in the scratch of the thread. The candidates are one
// sorted array, best first, of live and removed nodes. Removed nodes are expanded as way-points, but only live ones
// count towards `ef` (Malkov & Yashunin 2016, as in hnswlib). A key is score 32 | ordinal 30 | live 1 | expanded 1.
// Only the scores are compared; equal ones keep the order of insertion. Any thread.
import { ROOT_ROW_BYTES, SCRATCH_POOL, SCRATCH_VISITED } from '../../memory/layout';
import { batched, putInBatch, touch } from '../memory/row-blocks';
import { areaAt, ensureArea } from '../memory/scratch';
import { keyOf, offer } from '../memory/top-k';
import { cosine, queryIn } from '../quantization/distance';

export const NEAR_LIVE: i64 = 2;
export const EXPANDED: i64 = 1;

/** @inline */
export function nearKey(score: i32, ordinal: u32, live: bool): i64 {
  return ((<i64>score) << 32) | <i64>(ordinal << 2) | (live ? NEAR_LIVE : 0);
}

/** @inline */
export function nearScore(key: i64): i32 {
  return <i32>(key >> 32);
}

/** @inline */
export function nearOrdinal(key: i64): u32 {
  return <u32>key >> 2;
}

/** Capacity of the array: `ef` live nodes and room for removed ones. @inline */
export function nearMax(ef: u32): u32 {
  return 2 * ef + 64;
}

/** Makes room for the candidates of a graph search with `ef`. False when memory is full. */
export function ensureNear(scratch: usize, ef: u32): bool {
  return ensureArea(scratch, SCRATCH_POOL, (<usize>(nearMax(ef) + 1)) << 3);
}

/** @inline */
export function nearAt(scratch: usize, place: u32): i64 {
  return load<i64>(areaAt(scratch, SCRATCH_POOL) + ((<usize>place) << 3));
}

/**
 * Inserts a key into the sorted array of `size` keys and returns its place. Four keys move at a time as long as all
 * four are worse.
 * @inline
 */
export function insertNear(pool: usize, size: u32, key: i64): u32 {
  let at = pool + ((<usize>size) << 3);
  const score = nearScore(key);
  for (const first = pool + 32; at >= first && nearScore(load<i64>(at - 32)) < score; at -= 32) {
    const before = v128.load(at - 32);
    const after = v128.load(at - 16);
    v128.store(at - 24, before);
    v128.store(at - 8, after);
  }
  for (; at > pool; at -= 8) {
    const before = load<i64>(at - 8);
    if (nearScore(before) >= score) break;
    store<i64>(at, before);
  }
  store<i64>(at, key);
  return <u32>((at - pool) >> 3);
}

// Exact scoring of the candidates: the best ones are scored by their rows, with the scores that hits have, and offered
// to the heap of the k best.

/** Rows that are touched together. A third of them already fill the first-level cache. */
const TOUCHED_ROWS: u32 = 16;

/**
 * Puts the next candidates from `place` on into BATCH, up to `max` and up to `TOUCHED_ROWS`, and touches their rows.
 * `liveOnly` skips removed nodes. Returns (next place << 8) | count.
 */
export function takeNear(scratch: usize, root: usize, place: u32, size: u32, max: u32, liveOnly: bool): u32 {
  let count: u32 = 0;
  for (; place < size && count < min(max, TOUCHED_ROWS); place++) {
    const key = nearAt(scratch, place);
    if (liveOnly && !(key & NEAR_LIVE)) continue;
    putInBatch(scratch, count++, nearOrdinal(key));
  }
  touch(scratch, root, count, load<u32>(root, ROOT_ROW_BYTES));
  return (place << 8) | count;
}

/** Offers the `max` best candidates by the exact scores of their rows. */
export function offerNear(scratch: usize, root: usize, size: u32, max: u32, liveOnly: bool): void {
  for (let place: u32 = 0, left = max; place < size && left > 0; ) {
    const taken = takeNear(scratch, root, place, size, left, liveOnly);
    place = taken >> 8;
    const count = taken & 255;
    left -= count;
    for (let i: u32 = 0; i < count; i++)
      offer(scratch, keyOf(cosine(root, queryIn(scratch), batched(scratch, i)), batched(scratch, i)));
  }
}

// The visited set has one bit for each row and is cleared for each graph search. For 60,000 rows it takes 7.5 kB, which
// stays in the first-level cache, and clearing it costs less than a hop. An array of epochs would need no clearing, but
// 8 to 16 times the memory.

/** @inline */
function bytesFor(rows: u32): usize {
  return (<usize>rows >> 3) + 8;
}

/** Makes room for the visited set of `rows` rows. False when memory is full. */
export function ensureVisited(scratch: usize, rows: u32): bool {
  return ensureArea(scratch, SCRATCH_VISITED, bytesFor(rows));
}

export function clearVisited(scratch: usize, rows: u32): void {
  memory.fill(areaAt(scratch, SCRATCH_VISITED), 0, bytesFor(rows));
}

/**
 * Marks a row as visited. Returns 1 for a row that was not marked before, else 0; a number lets callers count without a
 * branch. @inline
 */
export function visit(scratch: usize, ordinal: u32): u32 {
  const byte = areaAt(scratch, SCRATCH_VISITED) + (<usize>ordinal >> 3);
  const before: u32 = load<u8>(byte);
  store<u8>(byte, before | (1 << (ordinal & 7)));
  return ((before >> (ordinal & 7)) & 1) ^ 1;
}
