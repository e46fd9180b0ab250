// Counts, for each term of a range of byte order, the chunks that have it and are in a filter bitmap: facets of metadata
// values. Terms of a range are adjacent in a frozen run; those of the mutable run are all looked at. Any thread.
import {
  COUNTS_BYTES,
  COUNTS_TERMS_MAX,
  COUNTS_TEXTS,
  COUNTS_TEXTS_END,
  COUNTS_TEXTS_MAX,
  FULL,
  NONE,
  NOT_THERE,
  SCRATCH_ALLOWED,
  SCRATCH_OUTPUT,
} from '../../memory/layout';
import { areaAt, ensureArea } from '../memory/scratch';
import {
  MutableRun,
  MutableTerm,
  bytesOf,
  entryAt,
  mutableTermAt,
  mutableTermCount,
  newestOf,
  slotAt,
} from './mutable-run';
import {
  Cursor,
  atEnd,
  baseOf,
  bitmapAt,
  bitmapBytes,
  blockOf,
  countOf,
  nextBlock,
  openCursor,
  ordinalAt,
  unpackOrdinals,
} from './posting-list';
import { Query, cursorAt, isAllowed, openQuery, refAt } from './query';
import { Run, bytesAt, isLive, termAt, termLength } from './run';
import { inRange, lowerIn } from './term-bitmaps';
import { runAt, runCount } from './text-index';

/**
 * Finds the terms from the first term of the query, inclusive, to the second, exclusive, and counts the chunks of each
 * that are in the filter bitmap of `allowed` ordinals. Writes to the output area a header (COUNTS_BYTES), the counts
 * (u32), and the texts of the terms, each with a zero byte at its end. A term may occur several times, and its counts
 * add up; terms without a chunk are left out. Returns the number of terms, FULL, or NOT_THERE if the range has more
 * than `max`.
 */
export function countRange(scratch: usize, root: usize, allowed: u32, max: u32): i32 {
  const query = openQuery(scratch, root, 2, 1);
  if (!query) return FULL;
  query.allowed = <u32>areaAt(scratch, SCRATCH_ALLOWED);
  query.allowedEnd = allowed;
  const termsMax = termsOf(query, max);
  if (termsMax > max) return NOT_THERE;
  const texts = COUNTS_BYTES + (termsMax << 2);
  const textsMax = texts + textBytesOf(query);
  if (!ensureArea(scratch, SCRATCH_OUTPUT, <usize>textsMax + 8)) return FULL;
  const output = areaAt(scratch, SCRATCH_OUTPUT);
  store<u32>(output, termsMax, COUNTS_TERMS_MAX);
  store<u32>(output, texts, COUNTS_TEXTS);
  store<u32>(output, texts, COUNTS_TEXTS_END);
  store<u32>(output, textsMax, COUNTS_TEXTS_MAX);
  let terms: u32 = 0;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = runAt(query.list, i);
    const end = lowerIn(run, refAt(query, 1));
    const isEachAllowed = allowsEach(query, run);
    for (let term = lowerIn(run, refAt(query, 0)); term < end; term++) {
      const count = countIn(query, run, term, isEachAllowed);
      terms += write(output, terms, count, bytesAt(run, term, query.window), termLength(run, term));
    }
  }
  if (!query.mutable) return terms;
  const mutable = changetype<MutableRun>(query.mutable);
  for (let i: u32 = 0; i < mutableTermCount(mutable); i++) {
    const term = mutableTermAt(mutable, i);
    if (term.chunks && inRange(query, mutable, term))
      terms += write(output, terms, countInMutable(query, mutable, term), bytesOf(mutable, term), term.length);
  }
  return terms;
}

/** The number of terms of the range, or `max` + 1 if there are more. */
function termsOf(query: Query, max: u32): u32 {
  let terms: u32 = 0;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = runAt(query.list, i);
    terms += lowerIn(run, refAt(query, 1)) - min(lowerIn(run, refAt(query, 0)), lowerIn(run, refAt(query, 1)));
    if (terms > max) return max + 1;
  }
  if (!query.mutable) return terms;
  const mutable = changetype<MutableRun>(query.mutable);
  for (let i: u32 = 0; i < mutableTermCount(mutable) && terms <= max; i++) {
    const term = mutableTermAt(mutable, i);
    terms += u32(term.chunks != 0 && inRange(query, mutable, term));
  }
  return terms;
}

/** The bytes of the texts of all terms of the range, with the zero bytes. */
function textBytesOf(query: Query): u32 {
  let bytes: u32 = 0;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = runAt(query.list, i);
    const end = lowerIn(run, refAt(query, 1));
    for (let term = lowerIn(run, refAt(query, 0)); term < end; term++) bytes += termLength(run, term) + 1;
  }
  if (!query.mutable) return bytes;
  const mutable = changetype<MutableRun>(query.mutable);
  for (let i: u32 = 0; i < mutableTermCount(mutable); i++) {
    const term = mutableTermAt(mutable, i);
    if (term.chunks && inRange(query, mutable, term)) bytes += term.length + 1;
  }
  return bytes;
}

/** Appends a term, unless its count is 0 or the owner has added it after the room was measured. Returns how many. */
function write(output: usize, terms: u32, count: u32, bytes: usize, length: u32): u32 {
  const end = load<u32>(output, COUNTS_TEXTS_END);
  const isFree = terms < load<u32>(output, COUNTS_TERMS_MAX) && end + length < load<u32>(output, COUNTS_TEXTS_MAX);
  if (!count || !isFree) return 0;
  store<u32>(output + ((<usize>terms) << 2), count, COUNTS_BYTES);
  memory.copy(output + end, bytes, length);
  store<u8>(output + end + length, 0);
  store<u32>(output, end + length + 1, COUNTS_TEXTS_END);
  return 1;
}

function countIn(query: Query, run: usize, term: u32, isEachAllowed: bool): u32 {
  const list = termAt(run, term);
  if (isEachAllowed || list.count == list.dead) return list.count - list.dead;
  const isWhole = list.dead == 0;
  const cursor = cursorAt(query, 0);
  let count: u32 = 0;
  for (openCursor(cursor, run, term); !atEnd(cursor); nextBlock(cursor)) {
    if (isWhole && blockOf(cursor, cursor.block).isBitmap) {
      count += allowedInBitmap(query, cursor);
      continue;
    }
    unpackOrdinals(cursor);
    for (let i: u32 = 0; i < countOf(cursor); i++) {
      const ordinal = ordinalAt(cursor, i);
      count += u32(isAllowed(query, ordinal) && (isWhole || isLive(run, ordinal)));
    }
  }
  return count;
}

/** The number of allowed ordinals in a block that is stored as a bitmap, shifted to its first ordinal. */
function allowedInBitmap(query: Query, cursor: Cursor): u32 {
  const base = baseOf(cursor, cursor.block);
  const from = bitmapAt(cursor);
  const bytes = bitmapBytes(blockOf(cursor, cursor.block).last - base);
  let count: u32 = 0;
  for (let i: u32 = 0; i < bytes; i += 8)
    count += <u32>popcnt(load<u64>(from + i) & allowedFrom(query, base + 1 + (i << 3)));
  return count;
}

/** True when each live chunk of a run is allowed. */
function allowsEach(query: Query, run: usize): bool {
  const s = changetype<Run>(run);
  let ordinal = s.first & ~63;
  for (let at: usize = 0; at < s.bitsUsed; at += 8, ordinal += 64)
    if (load<u64>(<usize>s.bits + at) & ~allowedFrom(query, ordinal)) return false;
  return true;
}

/** Whether the 64 ordinals from `first` are allowed, one bit each. */
function allowedFrom(query: Query, first: u32): u64 {
  if (<u64>first + 64 > query.allowedEnd) {
    let bits: u64 = 0;
    for (let i: u32 = 0; i < 64; i++) bits |= (<u64>u32(isAllowed(query, first + i))) << i;
    return bits;
  }
  const at = <usize>query.allowed + (first >> 3);
  const shift = <u64>(first & 7);
  const bits = load<u64>(at);
  return shift ? (bits >> shift) | ((<u64>load<u8>(at, 8)) << (64 - shift)) : bits;
}

function countInMutable(query: Query, mutable: MutableRun, term: MutableTerm): u32 {
  let count: u32 = 0;
  let counted = NONE;
  for (let token = newestOf(term); token; token = entryAt(mutable, token - 1).before) {
    const slot = entryAt(mutable, token - 1).slot;
    // The tokens of a chunk follow each other.
    if (slot == counted) continue;
    counted = slot;
    const ordinal = slot < query.slots ? slotAt(mutable, slot).ordinal : NONE;
    count += u32(ordinal != NONE && isAllowed(query, ordinal));
  }
  return count;
}
