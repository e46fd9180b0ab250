// Duplicate vectors: live rows whose vectors are equal but for rounding, as with the same text in many documents. One
// of the rows is a node of the graph; the others are in a chain that begins at the node, doubly linked by ordinal + 1,
// with 0 for none. Without this, a vector shared by a tenth of the rows would fill the neighbour lists around it with
// itself and cut other nodes off. The owner writes; any thread may follow a chain.
import { NODE_DUPLICATE, NONE, ROOT_ROW_BYTES, ROW_DUPLICATE, WIDE_SCALE } from '../../memory/layout';
import { ordinalOf, scoreOf } from '../memory/top-k';
import { isNarrow, nodeWordsAt, rowWordsAt, vectorAt } from '../memory/row-blocks';
import { wideDot } from '../quantization/distance';

/** The squared distance up to which two rows of 16-bit numbers are duplicates. Rounding hides smaller differences. */
const SAME: i64 = <i64>(4e-7 * <f64>(WIDE_SCALE * WIDE_SCALE));
/**
 * The number of nearest rows that a row is compared with. Rounding changes the lengths of rows, so other rows can rank
 * before a duplicate.
 */
const COMPARED: u32 = 8;
/**
 * The largest difference between the scores of a duplicate and of its node: it allows for the angle between them, and
 * for the same angle again when the node was a duplicate of an earlier node.
 */
export const DUPLICATE_REACH: f32 = 1.5e-3;

/** The next row in the chain of duplicates, or NONE. @inline */
export function duplicateAfter(root: usize, ordinal: u32): u32 {
  return atomic.load<u32>(rowWordsAt(root, ordinal), ROW_DUPLICATE) - 1;
}

/** @inline */
export function isDuplicate(root: usize, ordinal: u32): bool {
  return load<u32>(nodeWordsAt(root, ordinal), NODE_DUPLICATE) != 0;
}

/** The node among `count` keys, sorted best first, of which `ordinal` is a duplicate; NONE if there is none. */
export function findOriginal(root: usize, ordinal: u32, keys: usize, count: u32): u32 {
  for (let place: u32 = 0; place < min(count, COMPARED); place++) {
    const key = load<u64>(keys + ((<usize>place) << 3));
    if (scoreOf(key) < <f32>1 - DUPLICATE_REACH) break;
    if (isSame(root, ordinal, ordinalOf(key))) return ordinalOf(key);
  }
  return NONE;
}

/** True for duplicates. Rows of 8-bit numbers are duplicates when all their numbers are equal. */
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

/** Inserts `ordinal` as the first duplicate in the chain of the node `original`. */
export function hang(root: usize, ordinal: u32, original: u32): void {
  const next = duplicateAfter(root, original);
  setNext(root, ordinal, next);
  setBefore(root, ordinal, original);
  if (next != NONE) setBefore(root, next, ordinal);
  setNext(root, original, ordinal);
}

/** Removes a duplicate from its chain. */
export function unhang(root: usize, ordinal: u32): void {
  const before = load<u32>(nodeWordsAt(root, ordinal), NODE_DUPLICATE) - 1;
  const next = duplicateAfter(root, ordinal);
  setNext(root, before, next);
  if (next != NONE) setBefore(root, next, before);
}

/** Makes a row the head of an empty chain. */
export function clearDuplicates(root: usize, ordinal: u32): void {
  setNext(root, ordinal, NONE);
  setBefore(root, ordinal, NONE);
}

export function setBefore(root: usize, ordinal: u32, before: u32): void {
  store<u32>(nodeWordsAt(root, ordinal), before + 1, NODE_DUPLICATE);
}

function setNext(root: usize, ordinal: u32, next: u32): void {
  atomic.store<u32>(rowWordsAt(root, ordinal), next + 1, ROW_DUPLICATE);
}
