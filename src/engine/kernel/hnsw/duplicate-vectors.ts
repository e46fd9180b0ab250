// Rows with the same vector, or as good as the same (the same text in many documents). One of them is a node of the
// graph; the others are its copies, live rows in a chain that hangs on it, doubly linked by ordinals + 1, 0 for none.
// Without this, a vector that stands in a tenth of the rows fills the lists of its neighbours with itself and cuts
// others off. The owner writes; any thread may follow a chain.
import { NODE_DUPLICATE, NONE, ROOT_ROW_BYTES, ROW_DUPLICATE, WIDE_SCALE } from '../../memory/layout';
import { ordinalOf, scoreOf } from '../memory/top-k';
import { isNarrow, nodeWordsAt, rowWordsAt, vectorAt } from '../memory/row-blocks';
import { wideDot } from '../quantization/distance';

/**
 * The square of the distance of two rows of 16-bit numbers of which one is a copy of the other: rounding hides what
 * lies between them.
 */
const SAME: i64 = <i64>(4e-7 * <f64>(WIDE_SCALE * WIDE_SCALE));
/**
 * A row is compared with this many of the nearest: what rounding adds to the length of a row can put others before the
 * same one.
 */
const COMPARED: u32 = 8;
/**
 * A copy's score is at most this far from its node's: the angle between them, and again as much where the node was a
 * copy itself.
 */
export const COPY_REACH: f32 = 1.5e-3;

/** The next row in the chain, or NONE. @inline */
export function copyAfter(root: usize, ordinal: u32): u32 {
  return atomic.load<u32>(rowWordsAt(root, ordinal), ROW_DUPLICATE) - 1;
}

/** @inline */
export function isCopy(root: usize, ordinal: u32): bool {
  return load<u32>(nodeWordsAt(root, ordinal), NODE_DUPLICATE) != 0;
}

/** The node among `count` sorted keys that `ordinal` is a copy of, or NONE. */
export function findOriginal(root: usize, ordinal: u32, keys: usize, count: u32): u32 {
  for (let place: u32 = 0; place < min(count, COMPARED); place++) {
    const key = load<u64>(keys + ((<usize>place) << 3));
    if (scoreOf(key) < <f32>1 - COPY_REACH) break;
    if (isSame(root, ordinal, ordinalOf(key))) return ordinalOf(key);
  }
  return NONE;
}

/** Rows of 8-bit numbers are the same when every number is. */
function isSame(root: usize, a: u32, b: u32): bool {
  const bytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  const rowA = vectorAt(root, a);
  const rowB = vectorAt(root, b);
  if (!isNarrow(root))
    return (
      <i64>wideDot(rowA, rowA, bytes) + <i64>wideDot(rowB, rowB, bytes) - 2 * <i64>wideDot(rowA, rowB, bytes) <= SAME
    );
  let differs = i32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += 16)
    differs = v128.or(differs, v128.xor(v128.load(rowA + at), v128.load(rowB + at)));
  return !v128.any_true(differs);
}

/** Makes `ordinal` the first copy of the node `original`. */
export function hang(root: usize, ordinal: u32, original: u32): void {
  const next = copyAfter(root, original);
  setNext(root, ordinal, next);
  setBefore(root, ordinal, original);
  if (next != NONE) setBefore(root, next, ordinal);
  setNext(root, original, ordinal);
}

/** Takes a copy out of its chain. */
export function unhang(root: usize, ordinal: u32): void {
  const before = load<u32>(nodeWordsAt(root, ordinal), NODE_DUPLICATE) - 1;
  const next = copyAfter(root, ordinal);
  setNext(root, before, next);
  if (next != NONE) setBefore(root, next, before);
}

/** Makes a row the head of its own chain, which is empty. */
export function clearCopies(root: usize, ordinal: u32): void {
  setNext(root, ordinal, NONE);
  setBefore(root, ordinal, NONE);
}

export function setBefore(root: usize, ordinal: u32, before: u32): void {
  store<u32>(nodeWordsAt(root, ordinal), before + 1, NODE_DUPLICATE);
}

function setNext(root: usize, ordinal: u32, next: u32): void {
  atomic.store<u32>(rowWordsAt(root, ordinal), next + 1, ROW_DUPLICATE);
}
