// The postings of one term in one frozen run, packed in blocks. A cursor goes through them by rising ordinals, block by
// block, and unpacks a block only when it is looked into. A cursor is a record of fixed size with two buffers, in the
// scratch of a search or in a merge. Any thread, each with its own cursors.
import { BLOCK, Block, Run, termAt } from './run';

/** A position in the postings of a term. */
@unmanaged
export class Cursor {
  run: u32;
  /** Address of the term's first block, the number of its blocks, and the number of postings in the last one. */
  blocks: u32;
  blockCount: u32;
  lastCount: u32;
  /** The current block, and the next posting in it once it is unpacked. */
  block: u32;
  i: u32;
  /** One more than the block whose ordinals, whose weights or counts, and whose bound the cursor holds. */
  unpacked: u32;
  weighed: u32;
  bounded: u32;
  blockBound: u32;
  /** Bounds of the weight of a posting: of any posting, and of those in the current window. */
  bound: u32;
  windowBound: u32;
  factor: f32;
  /** The ordinal before the first one of the run. */
  before: u32;
  /** For phrases and merges: the number of positions in the block before those of the current posting. */
  position: u32;
  /** The sum of this cursor's bound and of all smaller bounds of the query. */
  boundUpTo: u32;
}

const ORDINALS: usize = 64;
const WEIGHTS: usize = ORDINALS + 4 * 132;
export const CURSOR_BYTES: usize = WEIGHTS + 4 * 132;

/** Sets a cursor to the first block of the term with the number `term`. */
export function openCursor(cursor: Cursor, run: usize, term: u32): void {
  const list = termAt(run, term);
  memory.fill(changetype<usize>(cursor), 0, ORDINALS);
  cursor.run = <u32>run;
  cursor.blocks = changetype<Run>(run).blocks + list.block * <u32>offsetof<Block>();
  cursor.blockCount = (list.count + BLOCK - 1) / BLOCK;
  cursor.lastCount = list.count - (cursor.blockCount - 1) * BLOCK;
  cursor.before = changetype<Run>(run).first - 1;
}

/** @inline */
export function atEnd(cursor: Cursor): bool {
  return cursor.block >= cursor.blockCount;
}

/** @inline */
export function blockOf(cursor: Cursor, block: u32): Block {
  return changetype<Block>(<usize>cursor.blocks + <usize>block * offsetof<Block>());
}

/** The ordinal after which all ordinals of a block come. @inline */
export function baseOf(cursor: Cursor, block: u32): u32 {
  return block ? blockOf(cursor, block - 1).last : cursor.before;
}

/** The number of postings in the current block. @inline */
export function countOf(cursor: Cursor): u32 {
  return cursor.block + 1 == cursor.blockCount ? cursor.lastCount : BLOCK;
}

/** @inline */
export function ordinalsOf(cursor: Cursor): usize {
  return changetype<usize>(cursor) + ORDINALS;
}

/** Address of the buffer for the weights of the postings of a block, or for their counts. @inline */
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

/**
 * Moves to the first block whose last ordinal is at least `ordinal`, or to the end. Searches in growing steps from the
 * current block.
 */
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

/**
 * Index of the first posting of the unpacked block with at least `ordinal`; the number of postings if there is none.
 */
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

// Packing of small numbers. Vertical: number i is in lane i mod 4 of a row of 128-bit words, so four are unpacked at
// once and any one can be read alone (Lemire & Boytsov, "Decoding billions of integers per second", 2015). Horizontal:
// the numbers follow each other bit by bit.

/** The number of bits that `value` needs. @inline */
export function bitsOf(value: u32): u32 {
  return 32 - clz(value);
}

/** Bytes of `count` numbers of `bits` each, packed vertically. @inline */
export function packedBytes(count: u32, bits: u32): u32 {
  return ((((count + 3) >> 2) * bits + 31) >> 5) << 4;
}

/** Packs `count` u32 numbers at `from` vertically. The numbers are read in groups of four. */
export function pack(to: usize, from: usize, count: u32, bits: u32): void {
  memory.fill(to, 0, packedBytes(count, bits));
  if (!bits) return;
  for (let i: u32 = 0, bit: u32 = 0; i < count; i += 4, bit += bits) {
    const numbers = v128.load(from + ((<usize>i) << 2));
    const word = to + ((<usize>(bit >> 5)) << 4);
    const shift = bit & 31;
    v128.store(word, v128.or(v128.load(word), i32x4.shl(numbers, shift)));
    if (shift + bits > 32) v128.store(word + 16, i32x4.shr_u(numbers, 32 - shift));
  }
}

/** The four numbers of the given group. @inline */
export function unpackFour(from: usize, group: u32, bits: u32, mask: v128): v128 {
  const bit = group * bits;
  const word = from + ((<usize>(bit >> 5)) << 4);
  const shift = bit & 31;
  let numbers = i32x4.shr_u(v128.load(word), shift);
  if (shift + bits > 32) numbers = v128.or(numbers, i32x4.shl(v128.load(word + 16), 32 - shift));
  return v128.and(numbers, mask);
}

/** @inline */
export function maskOf(bits: u32): u32 {
  return bits == 32 ? 0xffffffff : (1 << bits) - 1;
}

/** Reads one of the vertically packed numbers. */
export function unpackOne(from: usize, index: u32, bits: u32): u32 {
  if (!bits) return 0;
  const bit = (index >> 2) * bits;
  const word = from + ((<usize>(bit >> 5)) << 4) + ((<usize>(index & 3)) << 2);
  const shift = bit & 31;
  let number = load<u32>(word) >> shift;
  if (shift + bits > 32) number |= load<u32>(word, 16) << (32 - shift);
  return number & maskOf(bits);
}

/**
 * Bytes of `count` numbers of `bits` each, packed horizontally, with room for an eight-byte load of the last one.
 * @inline
 */
export function runBytes(count: u32, bits: u32): u32 {
  return ((count * bits + 7) >> 3) + 8;
}

export function packRun(to: usize, from: usize, count: u32, bits: u32): void {
  memory.fill(to, 0, runBytes(count, bits));
  for (let i: u32 = 0, bit: u32 = 0; i < count; i++, bit += bits) {
    const at = to + (bit >> 3);
    store<u64>(at, load<u64>(at) | ((<u64>load<u32>(from + ((<usize>i) << 2))) << (bit & 7)));
  }
}

/** @inline */
export function readRun(from: usize, index: u32, bits: u32): u32 {
  const bit = index * bits;
  return <u32>(load<u64>(from + (bit >> 3)) >> (bit & 7)) & maskOf(bits);
}

// The contents of the current block: the ordinals, as gaps or as a bitmap, followed by the counts. Ordinals are
// unpacked all at once, four at a time; single counts are read in place.

/** Moves to the first posting with at least `ordinal`, or to the end, and unpacks its block. */
export function seek(cursor: Cursor, ordinal: u32): void {
  seekBlock(cursor, ordinal);
  if (atEnd(cursor)) return;
  unpackOrdinals(cursor);
  cursor.i = lowerOrdinal(cursor, ordinal);
}

/**
 * Unpacks the ordinals of the current block. The last one is repeated after the end, so that groups of four can always
 * be read.
 */
export function unpackOrdinals(cursor: Cursor): void {
  if (cursor.unpacked == cursor.block + 1) return;
  const block = blockOf(cursor, cursor.block);
  const from = <usize>changetype<Run>(cursor.run).postings + block.postings;
  const base = baseOf(cursor, cursor.block);
  const count = countOf(cursor);
  if (block.isBitmap) unpackBitmap(cursor, from, base);
  else if (count > 1) unpackGaps(cursor, from, base, count, block.ordinalBits);
  v128.store(ordinalsOf(cursor) + ((<usize>count) << 2), i32x4.splat(block.last));
  if (count == 1) store<u32>(ordinalsOf(cursor), block.last);
  cursor.unpacked = cursor.block + 1;
}

function unpackGaps(cursor: Cursor, from: usize, base: u32, count: u32, bits: u32): void {
  const to = ordinalsOf(cursor);
  const mask = i32x4.splat(maskOf(bits));
  const zero = i32x4.splat(0);
  const one = i32x4.splat(1);
  let last = i32x4.splat(base);
  for (let group: u32 = 0; group < (count + 3) >> 2; group++) {
    let gaps = i32x4.add(bits ? unpackFour(from, group, bits, mask) : zero, one);
    gaps = i32x4.add(gaps, v128.shuffle<i32>(zero, gaps, 3, 4, 5, 6));
    gaps = i32x4.add(gaps, v128.shuffle<i32>(zero, gaps, 2, 3, 4, 5));
    const ordinals = i32x4.add(gaps, last);
    v128.store(to + ((<usize>group) << 4), ordinals);
    last = v128.shuffle<i32>(ordinals, ordinals, 3, 3, 3, 3);
  }
}

function unpackBitmap(cursor: Cursor, from: usize, base: u32): void {
  let to = ordinalsOf(cursor);
  const end = to + (BLOCK << 2);
  for (let first = base + 1; to < end; from += 8, first += 64) {
    for (let word = load<u64>(from); word; word &= word - 1) {
      store<u32>(to, first + <u32>ctz(word));
      to += 4;
    }
  }
}

/** Address of the counts of a block, which follow its ordinals. */
export function countsAt(cursor: Cursor, block: Block): usize {
  const from = <usize>changetype<Run>(cursor.run).postings + block.postings;
  if (block.isBitmap) return from + bitmapBytes(block.last - baseOf(cursor, cursor.block));
  const count = countOf(cursor);
  return count > 1 ? from + packedBytes(count, block.ordinalBits) : from;
}

/** @inline */
export function bitmapBytes(span: u32): u32 {
  return ((span + 63) >> 6) << 3;
}

/** The number of occurrences of the term in the i-th posting of the block. */
export function countAt(cursor: Cursor, i: u32): u32 {
  const block = blockOf(cursor, cursor.block);
  return block.countBits ? unpackOne(countsAt(cursor, block), i, block.countBits) + 1 : 1;
}

/** Address of the bitmap of the current block. @inline */
export function bitmapAt(cursor: Cursor): usize {
  return <usize>changetype<Run>(cursor.run).postings + blockOf(cursor, cursor.block).postings;
}
