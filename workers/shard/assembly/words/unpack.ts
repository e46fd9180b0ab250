// What stands in the block a cursor looks at: ordinals, as gaps or as a bitmap, and behind them the counts. Ordinals
// are unpacked all at once, four at a time; a count is read where it stands. Any thread, each with cursors of its own.
import { maskOf, packedBytes, unpackFour, unpackOne } from './bits';
import { atEnd, baseOf, blockOf, countOf, Cursor, lowerOrdinal, ordinalsOf, seekBlock } from './cursor';
import { Block, BLOCK, Segment } from './segment';

/** Goes on to the first posting at or behind `ordinal`, unpacking its block. */
export function seek(cursor: Cursor, ordinal: u32): void {
  seekBlock(cursor, ordinal);
  if (atEnd(cursor)) return;
  unpackOrdinals(cursor);
  cursor.i = lowerOrdinal(cursor, ordinal);
}

/** Unpacks the ordinals of the block looked at; behind the last it is repeated, so that four can always be read. */
export function unpackOrdinals(cursor: Cursor): void {
  if (cursor.unpacked == cursor.block + 1) return;
  const block = blockOf(cursor, cursor.block);
  const from = <usize>changetype<Segment>(cursor.segment).postings + block.postings;
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

/** Address of the counts of a block: behind its ordinals. */
export function countsAt(cursor: Cursor, block: Block): usize {
  const from = <usize>changetype<Segment>(cursor.segment).postings + block.postings;
  if (block.isBitmap) return from + bitmapBytes(block.last - baseOf(cursor, cursor.block));
  const count = countOf(cursor);
  return count > 1 ? from + packedBytes(count, block.ordinalBits) : from;
}

/** @inline */
export function bitmapBytes(span: u32): u32 {
  return ((span + 63) >> 6) << 3;
}

/** How often the term occurs at the i-th posting of the block. */
export function countAt(cursor: Cursor, i: u32): u32 {
  const block = blockOf(cursor, cursor.block);
  return block.countBits ? unpackOne(countsAt(cursor, block), i, block.countBits) + 1 : 1;
}

/** Address of the bitmap of the block looked at. @inline */
export function bitmapAt(cursor: Cursor): usize {
  return <usize>changetype<Segment>(cursor.segment).postings + blockOf(cursor, cursor.block).postings;
}
