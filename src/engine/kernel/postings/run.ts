// A frozen run of a text index: sorted terms, their postings in blocks of 128, and a live bit for each chunk. It is
// immutable except for the live bits and the terms' counts of dead postings. Each of its arrays is an area of its own
// in the arena. The owner writes; any thread reads.
import { TEXT_BLOCKS, TEXT_POSITIONS, TEXT_POSTINGS, TEXT_TERMS } from '../../memory/layout';
import { Area, areaLines, linesOf, retireArea } from '../memory/arena';
import { retire } from '../memory/epochs';

/**
 * Bounds the weights of a set of postings at any mean length. Four 16-bit numbers, from the lowest bits on: the
 * shortest length of the postings with a count of at least 1, of at least 2 and of at least 3, and the greatest count.
 * Every block and every term has one.
 */
export type Impact = u64;
export const NO_IMPACT: Impact = 0x0000_ffff_ffff_ffff;
/** The largest length or count in an impact; larger ones are stored as this. */
export const SATURATED: u32 = 0xffff;

/** The impact of a single posting. */
export function impactOf(count: u32, length: u32): Impact {
  const least: u64 = min(length, SATURATED);
  const none: u64 = SATURATED;
  const greatest: u64 = min(count, SATURATED);
  return least | ((count >= 2 ? least : none) << 16) | ((count >= 3 ? least : none) << 32) | (greatest << 48);
}

/** The impact of two sets of postings together. */
export function joinImpacts(a: Impact, b: Impact): Impact {
  const lengths = i16x8.min_u(i64x2(<i64>a, 0), i64x2(<i64>b, 0));
  const greatest = max(a >> 48, b >> 48);
  return (<u64>i64x2.extract_lane(lengths, 0) & 0x0000_ffff_ffff_ffff) | (greatest << 48);
}

// Terms are UTF-8 bytes without a zero byte. The key of a term is its first eight bytes as one number, the first byte
// highest, so that most comparisons are of two numbers. Its tail is the rest of its bytes.

/**
 * The key of a term. Terms are ordered by their bytes. Terms of up to eight bytes have no tail, so their keys identify
 * them.
 * @inline
 */
export function keyOf(at: usize, length: u32): u64 {
  if (length >= 8) return bswap<u64>(load<u64>(at));
  // The load may read past the term but not past the memory, whose last line is the arena's fence.
  return length ? bswap<u64>(load<u64>(at) & (<u64>-1 >> (64 - ((<u64>length) << 3)))) : 0;
}

/** @inline */
export function tailLength(length: u32): u32 {
  return length > 8 ? length - 8 : 0;
}

/** Compares two byte strings. The result is negative, 0 or positive. */
export function compareBytes(a: usize, aLength: u32, b: usize, bLength: u32): i32 {
  const common = min(aLength, bLength);
  for (let i: u32 = 0; i < common; i++) {
    const difference = <i32>load<u8>(a + i) - <i32>load<u8>(b + i);
    if (difference) return difference;
  }
  return <i32>aLength - <i32>bLength;
}

export function equalBytes(a: usize, b: usize, length: u32): bool {
  let i: u32 = 0;
  for (; i + 8 <= length; i += 8) if (load<u64>(a + i) != load<u64>(b + i)) return false;
  for (; i < length; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

/** The FNV-1a hash of a term, with a final mix. Never 0. */
export function hashOf(at: usize, length: u32): u32 {
  let hash: u32 = 0x811c9dc5;
  for (let i: u32 = 0; i < length; i++) hash = (hash ^ load<u8>(at + i)) * 0x01000193;
  hash ^= hash >> 15;
  return hash ? hash : 1;
}

/** The number of bytes up to the next zero byte. @inline */
export function lengthTo0(at: usize): u32 {
  let end = at;
  while (load<u8>(end)) end++;
  return <u32>(end - at);
}

/** The record of a frozen run: its range of ordinals, its counts and its areas. */
@unmanaged
export class Run {
  /** The lowest ordinal, and one more than the highest. */
  first: u32;
  end: u32;
  /** The number of chunks when the run was made, and of those still live. */
  chunks: u32;
  live: u32;
  /** 1 when the next list is to leave the run out. */
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
  /** Live bits by ordinal, beginning at `first` rounded down to a multiple of 64. */
  bits: u32;
  bitsBytes: u32;
  bitsUsed: u32;
}

/** The numbers of a run's areas. */
export const KEYS: usize = 0;
export const TERMS: usize = 1;
export const BLOCKS: usize = 2;
export const TAILS: usize = 3;
export const POSTINGS: usize = 4;
export const POSITIONS: usize = 5;
export const LIVE_BITS: usize = 6;
const AREAS: usize = 7;

/** A term of a frozen run. */
@unmanaged
export class Term {
  /**
   * Offset in the area of tails of the term's length and all of its bytes; 0 for a term of up to eight bytes, whose key
   * is complete.
   */
  tail: u32;
  /** The number of postings, and of those among them whose chunk is dead. */
  count: u32;
  dead: u32;
  /** Index of the term's first block; its other blocks follow. */
  block: u32;
  impact: Impact;
}

/** Up to 128 postings of a term; `last` is the highest ordinal among them. */
@unmanaged
export class Block {
  last: u32;
  /** Offsets in the areas of postings and of positions. */
  postings: u32;
  positions: u32;
  ordinalBits: u8;
  countBits: u8;
  positionBits: u8;
  /**
   * 1 when the ordinals are stored as a bitmap, whose first bit is the first ordinal after the previous block, instead
   * of as packed gaps.
   */
  isBitmap: u8;
  impact: Impact;
}

export const BLOCK: u32 = 128;

export function areaOf(run: usize, index: usize): Area {
  return changetype<Area>(run + offsetof<Run>('keys') + index * offsetof<Area>());
}

/** @inline */
export function termCount(run: usize): u32 {
  return changetype<Run>(run).keysUsed >> 3;
}

/** @inline */
export function termAt(run: usize, i: u32): Term {
  return changetype<Term>(<usize>changetype<Run>(run).terms + <usize>i * offsetof<Term>());
}

/** Address of a long term's length and bytes; 0 for a short term. @inline */
export function longAt(run: usize, i: u32): usize {
  const tail = termAt(run, i).tail;
  return tail ? <usize>changetype<Run>(run).tails + tail : 0;
}

export function termLength(run: usize, i: u32): u32 {
  const long = longAt(run, i);
  const key = keyAt(run, i);
  return long ? load<u32>(long) : key ? 8 - (<u32>ctz(key) >> 3) : 0;
}

/** Address of a term's bytes. Those of a short term are written to `short`, which has room for eight bytes. */
export function bytesAt(run: usize, i: u32, short: usize): usize {
  const long = longAt(run, i);
  if (long) return long + 4;
  store<u64>(short, bswap<u64>(keyAt(run, i)));
  return short;
}

/** @inline */
export function keyAt(run: usize, i: u32): u64 {
  return load<u64>(<usize>changetype<Run>(run).keys + ((<usize>i) << 3));
}

/** Compares the i-th term with the term that has `key` and the tail given. The result is negative, 0 or positive. */
export function compareTerm(run: usize, i: u32, key: u64, tail: usize, length: u32): i32 {
  const own = keyAt(run, i);
  if (own != key) return own < key ? -1 : 1;
  const long = longAt(run, i);
  return long ? compareBytes(long + 12, load<u32>(long) - 8, tail, length) : 0 - <i32>length;
}

/** Index of the first term that is not less than the one given. */
export function lowerTerm(run: usize, key: u64, tail: usize, length: u32): u32 {
  let low: u32 = 0;
  let high = termCount(run);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareTerm(run, middle, key, tail, length) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of a term, or -1. */
export function findTerm(run: usize, key: u64, tail: usize, length: u32): i32 {
  const i = lowerTerm(run, key, tail, length);
  return i < termCount(run) && compareTerm(run, i, key, tail, length) == 0 ? <i32>i : -1;
}

/** Retires a run, which readers may still be using. Requires that it is in no list. */
export function retireRun(run: usize): void {
  for (let i: usize = 0; i < AREAS; i++) retireArea(areaOf(run, i));
  retire(run);
}

/** Lines of one component of the memory, `TEXT_TERMS` to `TEXT_LIVE`. The record of the run counts with its terms. */
export function runLines(run: usize, kind: u32): u32 {
  if (kind == TEXT_TERMS) {
    const areas = areaLines(areaOf(run, KEYS)) + areaLines(areaOf(run, TERMS));
    return linesOf(run) + areas + areaLines(areaOf(run, TAILS));
  }
  if (kind == TEXT_BLOCKS) return areaLines(areaOf(run, BLOCKS));
  if (kind == TEXT_POSTINGS) return areaLines(areaOf(run, POSTINGS));
  return areaLines(areaOf(run, kind == TEXT_POSITIONS ? POSITIONS : LIVE_BITS));
}

// Live bits: one bit for each ordinal of a run. A chunk is live in one frozen run, or in the mutable run, or nowhere.

export function setLive(run: usize, ordinal: u32): void {
  const s = changetype<Run>(run);
  const bit = ordinal - (s.first & ~63);
  const byte = <usize>s.bits + (bit >> 3);
  store<u8>(byte, load<u8>(byte) | <u8>((<u32>1) << (bit & 7)));
  s.live++;
  s.chunks++;
}

/** @inline */
export function isLive(run: usize, ordinal: u32): bool {
  const s = changetype<Run>(run);
  if (ordinal < s.first || ordinal >= s.end) return false;
  const bit = ordinal - (s.first & ~63);
  return ((load<u8>(<usize>s.bits + (bit >> 3)) >> (bit & 7)) & 1) != 0;
}

/** Adds the live chunks of another run, whose range of ordinals this run includes. No chunk is live in both. */
export function joinLive(run: usize, other: usize): void {
  const to = changetype<Run>(run);
  const from = changetype<Run>(other);
  let word = <usize>to.bits + (((from.first & ~63) - (to.first & ~63)) >> 3);
  for (let at: usize = from.bits; at < <usize>from.bits + from.bitsUsed; at += 8, word += 8)
    store<u64>(word, load<u64>(word) | load<u64>(at));
  to.live += from.live;
}

export function clearLive(run: usize, ordinal: u32): void {
  const s = changetype<Run>(run);
  const bit = ordinal - (s.first & ~63);
  const byte = <usize>s.bits + (bit >> 3);
  store<u8>(byte, load<u8>(byte) & ~(<u8>((<u32>1) << (bit & 7))));
  s.live--;
}
