// Walks the postings of one term in one segment, by rising ordinals: block by block, each unpacked only where it is
// looked into. A fixed number of words and two buffers in the scratch of a search or in a merge; used by one of them at
// a time.
import { Block, BLOCK, Segment, termAt } from './segment';

@unmanaged
export class Cursor {
  segment: u32;
  /** The term's first block, how many there are, and the postings in the last one. */
  blocks: u32;
  blockCount: u32;
  lastCount: u32;
  /** The block looked at, and the next posting in it once it is unpacked. */
  block: u32;
  i: u32;
  /** One more than the block whose ordinals, weights or counts, and bound stand here. */
  unpacked: u32;
  weighed: u32;
  bounded: u32;
  blockBound: u32;
  /** Bounds of a posting's weight: anywhere, and in the window under way. */
  bound: u32;
  windowBound: u32;
  factor: f32;
  /** The ordinal before the first of the segment. */
  before: u32;
  /** For phrases and merges: positions of postings before this one in the block. */
  position: u32;
  /** The sum of this bound and all smaller ones of the query. */
  boundUpTo: u32;
}

const ORDINALS: usize = 64;
const WEIGHTS: usize = ORDINALS + 4 * 132;
export const CURSOR_BYTES: usize = WEIGHTS + 4 * 132;

export function openCursor(cursor: Cursor, segment: usize, term: u32): void {
  const list = termAt(segment, term);
  memory.fill(changetype<usize>(cursor), 0, ORDINALS);
  cursor.segment = <u32>segment;
  cursor.blocks = changetype<Segment>(segment).blocks + list.block * <u32>offsetof<Block>();
  cursor.blockCount = (list.count + BLOCK - 1) / BLOCK;
  cursor.lastCount = list.count - (cursor.blockCount - 1) * BLOCK;
  cursor.before = changetype<Segment>(segment).first - 1;
}

/** @inline */
export function atEnd(cursor: Cursor): bool {
  return cursor.block >= cursor.blockCount;
}

/** @inline */
export function blockOf(cursor: Cursor, block: u32): Block {
  return changetype<Block>(<usize>cursor.blocks + <usize>block * offsetof<Block>());
}

/** The ordinal that all of a block come after. @inline */
export function baseOf(cursor: Cursor, block: u32): u32 {
  return block ? blockOf(cursor, block - 1).last : cursor.before;
}

/** Postings of the block looked at. @inline */
export function countOf(cursor: Cursor): u32 {
  return cursor.block + 1 == cursor.blockCount ? cursor.lastCount : BLOCK;
}

/** @inline */
export function ordinalsOf(cursor: Cursor): usize {
  return changetype<usize>(cursor) + ORDINALS;
}

/** Weights of the postings of a block, or their counts. @inline */
export function weightsOf(cursor: Cursor): usize {
  return changetype<usize>(cursor) + WEIGHTS;
}

/** @inline */
export function ordinalAt(cursor: Cursor, i: u32): u32 {
  return load<u32>(changetype<usize>(cursor) + ((<usize>i) << 2), ORDINALS);
}

/** @inline */
export function nextBlock(cursor: Cursor): void {
  cursor.block++;
  cursor.i = 0;
}

/** Goes on to the first block that ends at or behind `ordinal`, or to the end. */
export function seekBlock(cursor: Cursor, ordinal: u32): void {
  let low = cursor.block;
  if (low >= cursor.blockCount || blockOf(cursor, low).last >= ordinal) return;
  let step: u32 = 1;
  while (low + step < cursor.blockCount && blockOf(cursor, low + step).last < ordinal) {
    low += step;
    step <<= 1;
  }
  let high = min(low + step, cursor.blockCount);
  low++;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (blockOf(cursor, middle).last < ordinal) low = middle + 1;
    else high = middle;
  }
  cursor.block = low;
  cursor.i = 0;
}

/** Index of the first posting of the unpacked block that is not before `ordinal`. */
export function lowerOrdinal(cursor: Cursor, ordinal: u32): u32 {
  let low: u32 = 0;
  let size = countOf(cursor);
  while (size > 1) {
    const half = size >> 1;
    low = select<u32>(low + half, low, ordinalAt(cursor, low + half - 1) < ordinal);
    size -= half;
  }
  return low + u32(ordinalAt(cursor, low) < ordinal);
}
