// BM25 weights of postings, and upper bounds of them. A bound is never less than a weight that it covers, however the
// mean length has changed since the postings were written. Any thread.
import { NONE } from '../../memory/layout';
import {
  Cursor,
  baseOf,
  bitmapAt,
  blockOf,
  countAt,
  countOf,
  countsAt,
  lowerOrdinal,
  maskOf,
  ordinalAt,
  ordinalsOf,
  unpackFour,
  unpackOrdinals,
  weightsOf,
} from './posting-list';
import { Query } from './query';
import { Impact, SATURATED } from './run';

/**
 * The BM25 weight of one term in one chunk, as an integer. The factor includes idf and scale. Integer sums do not
 * depend on their order, so equal scores are exactly equal. The operations are those of src/ranking/bm25.ts in float32.
 * Each one is monotone in count and length, so a greater count and a smaller length never weigh less. The weight is at
 * least 1, so that every chunk with the term is found.
 * @inline
 */
export function weigh(query: Query, factor: f32, count: u32, length: u32): u32 {
  const norm = query.norm + query.normPerToken * <f32>length;
  return <u32>(factor / (<f32>1 + norm / <f32>count)) + 1;
}

/** The weights of four postings. @inline */
function weighFour(norm: v128, normPerToken: v128, factor: v128, counts: v128, lengths: v128): v128 {
  const norms = f32x4.add(norm, f32x4.mul(normPerToken, f32x4.convert_i32x4_s(lengths)));
  const weights = f32x4.div(factor, f32x4.add(f32x4.splat(1), f32x4.div(norms, f32x4.convert_i32x4_s(counts))));
  return i32x4.add(i32x4.trunc_sat_f32x4_s(weights), i32x4.splat(1));
}

/** An upper bound of the weights of the postings that the impact covers. */
export function boundOf(query: Query, factor: f32, impact: Impact): u32 {
  const greatest = <u32>(impact >> 48);
  if (greatest == SATURATED) return <u32>factor + 1;
  let bound = weigh(query, factor, 1, <u32>(impact & 0xffff));
  if (greatest >= 2) bound = max(bound, weigh(query, factor, 2, <u32>((impact >> 16) & 0xffff)));
  if (greatest >= 3) bound = max(bound, weigh(query, factor, greatest, <u32>((impact >> 32) & 0xffff)));
  return bound;
}

/** Computes the weights of all postings of the current block, whose ordinals must be unpacked. */
export function weighBlock(query: Query, cursor: Cursor): void {
  if (cursor.weighed == cursor.block + 1) return;
  const block = blockOf(cursor, cursor.block);
  const bits: u32 = block.countBits;
  const counts = countsAt(cursor, block);
  const mask = i32x4.splat(maskOf(bits));
  const one = i32x4.splat(1);
  const norm = f32x4.splat(query.norm);
  const normPerToken = f32x4.splat(query.normPerToken);
  const factor = f32x4.splat(cursor.factor);
  const ordinals = ordinalsOf(cursor);
  const weights = weightsOf(cursor);
  const groups = (countOf(cursor) + 3) >> 2;
  for (let group: u32 = 0; group < groups; group++) {
    const numbers = bits ? i32x4.add(unpackFour(counts, group, bits, mask), one) : one;
    const at = (<usize>group) << 4;
    v128.store(weights + at, weighFour(norm, normPerToken, factor, numbers, gather(query.lengths, ordinals + at)));
  }
  cursor.weighed = cursor.block + 1;
}

/** The lengths of four ordinals. @inline */
function gather(lengths: usize, ordinals: usize): v128 {
  const one = v128.load16_lane(lengths + ((<usize>load<u32>(ordinals)) << 1), i32x4.splat(0), 0);
  const two = v128.load16_lane(lengths + ((<usize>load<u32>(ordinals, 4)) << 1), one, 2);
  const three = v128.load16_lane(lengths + ((<usize>load<u32>(ordinals, 8)) << 1), two, 4);
  return v128.load16_lane(lengths + ((<usize>load<u32>(ordinals, 12)) << 1), three, 6);
}

/** An upper bound of the weights of the postings of the current block. */
export function blockBoundOf(query: Query, cursor: Cursor): u32 {
  if (cursor.bounded != cursor.block + 1) {
    cursor.blockBound = boundOf(query, cursor.factor, blockOf(cursor, cursor.block).impact);
    cursor.bounded = cursor.block + 1;
  }
  return cursor.blockBound;
}

/** The number of blocks in a window whose bounds are computed; with more, the bound of the whole list is used. */
const BLOCKS_BOUNDED: u32 = 3;

/**
 * An upper bound of the weights of the postings before `end`; 0 if there are none. Requires that the cursor is at the
 * first block that ends in or after the window.
 */
export function windowBoundOf(query: Query, cursor: Cursor, end: u32): u32 {
  let bound: u32 = 0;
  for (let block = cursor.block; block < cursor.blockCount; block++) {
    if (baseOf(cursor, block) + 1 >= end) break;
    if (block - cursor.block >= BLOCKS_BOUNDED) return cursor.bound;
    bound = max(
      bound,
      block == cursor.block
        ? blockBoundOf(query, cursor)
        : boundOf(query, cursor.factor, blockOf(cursor, block).impact),
    );
  }
  return bound;
}

/**
 * The weight of the term in a chunk whose ordinal is in the range of the current block; 0 if the chunk does not have
 * the term.
 */
export function weightIn(query: Query, cursor: Cursor, ordinal: u32): u32 {
  const block = blockOf(cursor, cursor.block);
  let i: u32;
  if (block.isBitmap) {
    i = rankInBitmap(cursor, ordinal);
    if (i == NONE) return 0;
  } else {
    unpackOrdinals(cursor);
    i = lowerOrdinal(cursor, ordinal);
    if (ordinalAt(cursor, i) != ordinal) return 0;
  }
  return weigh(query, cursor.factor, countAt(cursor, i), load<u16>(<usize>query.lengths + ((<usize>ordinal) << 1)));
}

/** Index of the posting of `ordinal` in a block with a bitmap, or NONE. */
function rankInBitmap(cursor: Cursor, ordinal: u32): u32 {
  const bit = ordinal - baseOf(cursor, cursor.block) - 1;
  let at = bitmapAt(cursor);
  const end = at + ((<usize>(bit >> 6)) << 3);
  const word = load<u64>(end);
  const mask = (<u64>1) << (bit & 63);
  if (!(word & mask)) return NONE;
  let rank = <u32>popcnt(word & (mask - 1));
  for (; at < end; at += 8) rank += <u32>popcnt(load<u64>(at));
  return rank;
}
