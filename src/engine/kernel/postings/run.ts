// A frozen segment: terms in order, their postings in blocks of 128, and one bit for every chunk that is live.
// Immutable but for these bits and the terms' counts of dead postings. One block of the arena, with an area for each of
// its arrays.
import { linesOf } from '../arena';
import { retire } from '../epochs';
import { Area, areaLines, retireArea } from './area';
import { Impact } from './impact';
import { compareBytes } from './terms';

@unmanaged
export class Segment {
  /** The lowest ordinal, and one more than the highest. */
  first: u32;
  end: u32;
  /** Chunks when it was made, and those still live. */
  chunks: u32;
  live: u32;
  /** 1 when the next list is to be without it. */
  isGone: u32;
  keys: u32;
  keysBytes: u32;
  keysUsed: u32;
  terms: u32;
  termsBytes: u32;
  termsUsed: u32;
  blocks: u32;
  blocksBytes: u32;
  blocksUsed: u32;
  tails: u32;
  tailsBytes: u32;
  tailsUsed: u32;
  postings: u32;
  postingsBytes: u32;
  postingsUsed: u32;
  positions: u32;
  positionsBytes: u32;
  positionsUsed: u32;
  /** Live bits by ordinal, from `first` rounded down to 64 on. */
  bits: u32;
  bitsBytes: u32;
  bitsUsed: u32;
}

const AREAS: usize = 7;

@unmanaged
export class Term {
  /** Offset of a length and all bytes; 0 for a term of up to eight bytes, which its key tells whole. */
  tail: u32;
  /** Postings, and those among them whose chunk is dead. */
  count: u32;
  dead: u32;
  /** Index of the first block; the others follow. */
  block: u32;
  impact: Impact;
}

@unmanaged
export class Block {
  last: u32;
  /** Offsets in the areas of postings and of positions. */
  postings: u32;
  positions: u32;
  ordinalBits: u8;
  countBits: u8;
  positionBits: u8;
  /** Ordinals stand as a bitmap from the block's first possible one on, instead of as packed gaps. */
  isBitmap: u8;
  impact: Impact;
}

export const BLOCK: u32 = 128;

export function areaOf(segment: usize, index: usize): Area {
  return changetype<Area>(segment + offsetof<Segment>('keys') + index * offsetof<Area>());
}

/** @inline */
export function termCount(segment: usize): u32 {
  return changetype<Segment>(segment).keysUsed >> 3;
}

/** @inline */
export function termAt(segment: usize, i: u32): Term {
  return changetype<Term>(<usize>changetype<Segment>(segment).terms + <usize>i * offsetof<Term>());
}

/** Address of the length and the bytes of a long term, or 0. @inline */
export function longAt(segment: usize, i: u32): usize {
  const tail = termAt(segment, i).tail;
  return tail ? <usize>changetype<Segment>(segment).tails + tail : 0;
}

export function termLength(segment: usize, i: u32): u32 {
  const long = longAt(segment, i);
  const key = keyAt(segment, i);
  return long ? load<u32>(long) : key ? 8 - (<u32>ctz(key) >> 3) : 0;
}

/** Address of a term's bytes; a short one is written to `short`, which has room for eight. */
export function bytesAt(segment: usize, i: u32, short: usize): usize {
  const long = longAt(segment, i);
  if (long) return long + 4;
  store<u64>(short, bswap<u64>(keyAt(segment, i)));
  return short;
}

/** @inline */
export function keyAt(segment: usize, i: u32): u64 {
  return load<u64>(<usize>changetype<Segment>(segment).keys + ((<usize>i) << 3));
}

/** Below 0, 0 or above: how the i-th term stands to the one with `key` and the tail given. */
export function compareTerm(segment: usize, i: u32, key: u64, tail: usize, length: u32): i32 {
  const own = keyAt(segment, i);
  if (own != key) return own < key ? -1 : 1;
  const long = longAt(segment, i);
  return long ? compareBytes(long + 12, load<u32>(long) - 8, tail, length) : 0 - <i32>length;
}

/** Index of the first term that does not come before the one given. */
export function lowerTerm(segment: usize, key: u64, tail: usize, length: u32): u32 {
  let low: u32 = 0;
  let high = termCount(segment);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareTerm(segment, middle, key, tail, length) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of a term, or -1. */
export function findTerm(segment: usize, key: u64, tail: usize, length: u32): i32 {
  const i = lowerTerm(segment, key, tail, length);
  return i < termCount(segment) && compareTerm(segment, i, key, tail, length) == 0 ? <i32>i : -1;
}

/** Gives back a segment, be it that readers are still at work in it. Requires that it is in no list. */
export function retireSegment(segment: usize): void {
  for (let i: usize = 0; i < AREAS; i++) retireArea(areaOf(segment, i));
  retire(segment);
}

/** Lines of one part: 0 terms, 1 blocks, 2 postings, 3 positions, 4 live bits. */
export function segmentLines(segment: usize, part: u32): u32 {
  if (part == 0)
    return (
      linesOf(segment) + areaLines(areaOf(segment, 0)) + areaLines(areaOf(segment, 1)) + areaLines(areaOf(segment, 3))
    );
  if (part == 1) return areaLines(areaOf(segment, 2));
  return areaLines(areaOf(segment, part + 2));
}
