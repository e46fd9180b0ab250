// Phrase search: finds the chunks in which tokens follow each other; the last one may be a prefix. It collects the
// places of the rarest token and filters them by each of the others. The result is a bitmap. Any thread.
import { FULL, NONE, SCRATCH_ALLOWED } from '../../memory/layout';
import { areaAt, ensureArea } from '../memory/scratch';
import { MutableRun, Slot, entryAt, mutableTermAt, mutableTermCount, newestOf, slotAt } from './mutable-run';
import {
  Cursor,
  atEnd,
  blockOf,
  countOf,
  countsAt,
  nextBlock,
  openCursor,
  ordinalAt,
  readRun,
  seek,
  unpackOne,
  unpackOrdinals,
  weightsOf,
} from './posting-list';
import { Query, cursorAt, openQuery, refAt, tailLengthOf, tailOf } from './query';
import { findInMutable } from './rank';
import { Run, findTerm, isLive, lowerTerm, termAt, termCount } from './run';
import {
  bitmapWords,
  mutableStartsWith,
  openBitmap,
  setBit,
  setMutableTerm,
  setTerm,
  startsWith,
} from './term-bitmaps';
import { runAt, runCount } from './text-index';

// In the mutable run, the tokens of a chunk are stored in their order, so the neighbours of each occurrence of the
// rarest token are compared.

/**
 * Sets the bits of the chunks in the mutable run that have the phrase. The phrase has `whole` complete terms, and a
 * prefix if the query has one more.
 */
function phraseInMutable(query: Query, mutable: MutableRun, whole: u32, bitmap: usize): void {
  if (!whole) return prefixInMutable(query, mutable, bitmap);
  let rarest: u32 = 0;
  let fewest: u32 = NONE;
  for (let i: u32 = 0; i < whole; i++) {
    const ref = refAt(query, i);
    ref.mutable = findInMutable(mutable, ref);
    if (ref.mutable == NONE) return;
    if (mutableTermAt(mutable, ref.mutable).tokens >= fewest) continue;
    fewest = mutableTermAt(mutable, ref.mutable).tokens;
    rarest = i;
  }
  for (
    let token = newestOf(mutableTermAt(mutable, refAt(query, rarest).mutable));
    token;
    token = entryAt(mutable, token - 1).before
  ) {
    const number = entryAt(mutable, token - 1).slot;
    if (number >= query.slots) continue;
    const slot = slotAt(mutable, number);
    const ordinal = slot.ordinal;
    if (
      ordinal != NONE &&
      token - 1 >= slot.first + rarest &&
      standsAt(query, mutable, whole, token - 1 - rarest, slot)
    )
      setBit(bitmap, ordinal);
  }
}

function prefixInMutable(query: Query, mutable: MutableRun, bitmap: usize): void {
  for (let i: u32 = 0; i < mutableTermCount(mutable); i++) {
    if (mutableStartsWith(mutable, mutableTermAt(mutable, i), refAt(query, 0)))
      setMutableTerm(bitmap, query, mutableTermAt(mutable, i));
  }
}

/** True when the phrase begins at `token`. */
function standsAt(query: Query, mutable: MutableRun, whole: u32, token: u32, slot: Slot): bool {
  if (token + query.terms > slot.first + slot.length) return false;
  for (let i: u32 = 0; i < whole; i++) if (entryAt(mutable, token + i).term != refAt(query, i).mutable) return false;
  if (whole == query.terms) return true;
  return mutableStartsWith(mutable, mutableTermAt(mutable, entryAt(mutable, token + whole).term), refAt(query, whole));
}

// A place where a phrase may begin is a chunk's ordinal and a position in the chunk, combined in a u64. Places are
// collected from the postings of one token, in rising order, and filtered by those of others.

/** Capacity for places: the positions of any single chunk fit, and those of many short ones. */
const PLACES_MAX: u32 = 131072;

/**
 * Collects places from the cursor on, for a token that is `offset` tokens after the beginning of the phrase, as long as
 * there is room. Returns their number.
 */
function gather(cursor: Cursor, offset: u32, places: usize): u32 {
  let found: u32 = 0;
  while (!atEnd(cursor)) {
    unpackOrdinals(cursor);
    unpackStarts(cursor);
    const ordinal = ordinalAt(cursor, cursor.i);
    const start = startOf(cursor, cursor.i);
    const end = startOf(cursor, cursor.i + 1);
    if (found + end - start > PLACES_MAX) return found;
    if (isLive(cursor.run, ordinal)) found = addPlaces(cursor, ordinal, start, end, offset, places, found);
    if (++cursor.i == countOf(cursor)) nextBlock(cursor);
  }
  return found;
}

function addPlaces(cursor: Cursor, ordinal: u32, start: u32, end: u32, offset: u32, places: usize, found: u32): u32 {
  for (let i = start; i < end; i++) {
    const position = positionAt(cursor, i);
    if (position < offset) continue;
    store<u64>(places + ((<usize>found) << 3), ((<u64>ordinal) << 32) | (position - offset));
    found++;
  }
  return found;
}

/** Keeps the places that have the cursor's token `offset` tokens later. Returns their number. */
function sift(cursor: Cursor, offset: u32, places: usize, count: u32): u32 {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < count && !atEnd(cursor); i++) {
    const place = load<u64>(places + ((<usize>i) << 3));
    if (!stands(cursor, <u32>(place >> 32), <u32>place + offset)) continue;
    store<u64>(places + ((<usize>kept) << 3), place);
    kept++;
  }
  return kept;
}

/** True when the cursor's token is at a position of a chunk. Chunks must be queried in rising order. */
function stands(cursor: Cursor, ordinal: u32, position: u32): bool {
  seek(cursor, ordinal);
  if (atEnd(cursor) || ordinalAt(cursor, cursor.i) != ordinal) return false;
  unpackStarts(cursor);
  let low = startOf(cursor, cursor.i);
  let high = startOf(cursor, cursor.i + 1);
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = positionAt(cursor, middle);
    if (found == position) return true;
    if (found < position) low = middle + 1;
    else high = middle;
  }
  return false;
}

/** Writes the index of each posting's first position in the block to the buffer for weights. */
function unpackStarts(cursor: Cursor): void {
  if (cursor.weighed == cursor.block + 1) return;
  const block = blockOf(cursor, cursor.block);
  const counts = countsAt(cursor, block);
  let sum: u32 = 0;
  for (let i: u32 = 0; i < countOf(cursor); i++) {
    store<u32>(weightsOf(cursor) + ((<usize>i) << 2), sum);
    sum += unpackOne(counts, i, block.countBits) + 1;
  }
  store<u32>(weightsOf(cursor) + ((<usize>countOf(cursor)) << 2), sum);
  cursor.weighed = cursor.block + 1;
}

/** @inline */
function startOf(cursor: Cursor, i: u32): u32 {
  return load<u32>(weightsOf(cursor) + ((<usize>i) << 2));
}

/** @inline */
function positionAt(cursor: Cursor, i: u32): u32 {
  const block = blockOf(cursor, cursor.block);
  return readRun(<usize>changetype<Run>(cursor.run).positions + block.positions, i, block.positionBits);
}

/**
 * Writes a bitmap of the chunks with the phrase to the output area. Returns its number of 32-bit words, or FULL. There
 * must be at least one term; terms may repeat.
 */
export function findPhrase(scratch: usize, root: usize, terms: u32, lastIsPrefix: bool): i32 {
  const query = openQuery(scratch, root, terms, terms);
  if (!query || !ensureArea(scratch, SCRATCH_ALLOWED, (<usize>PLACES_MAX) << 3)) return FULL;
  const bitmap = openBitmap(scratch, query);
  if (!bitmap) return FULL;
  const whole = lastIsPrefix ? terms - 1 : terms;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    if (whole) phraseInRun(query, areaAt(scratch, SCRATCH_ALLOWED), runAt(query.list, i), whole, bitmap);
    else prefixInRun(query, runAt(query.list, i), bitmap);
  }
  if (query.mutable) phraseInMutable(query, changetype<MutableRun>(query.mutable), whole, bitmap);
  return bitmapWords(query);
}

function prefixInRun(query: Query, run: usize, bitmap: usize): void {
  const ref = refAt(query, 0);
  for (let term = firstWith(query, run, 0); term < termCount(run) && startsWith(run, term, ref); term++) {
    setTerm(bitmap, cursorAt(query, 0), run, term);
  }
}

/** Index of the first term that may begin with the i-th term of the query. */
function firstWith(query: Query, run: usize, i: u32): u32 {
  const ref = refAt(query, i);
  return lowerTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
}

function phraseInRun(query: Query, places: usize, run: usize, whole: u32, bitmap: usize): void {
  let rarest: u32 = 0;
  let fewest: u32 = NONE;
  for (let i: u32 = 0; i < whole; i++) {
    const ref = refAt(query, i);
    const term = findTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term < 0) return;
    openCursor(cursorAt(query, i), run, term);
    if (termAt(run, term).count >= fewest) continue;
    fewest = termAt(run, term).count;
    rarest = i;
  }
  const driver = cursorAt(query, rarest);
  while (!atEnd(driver)) siftBatch(query, places, run, whole, rarest, bitmap);
}

/**
 * Collects as many places of the rarest token as there is room for, and sets the bits of the chunks whose places all
 * other tokens confirm.
 */
function siftBatch(query: Query, places: usize, run: usize, whole: u32, rarest: u32, bitmap: usize): void {
  let count = gather(cursorAt(query, rarest), rarest, places);
  for (let i: u32 = 0; i < whole && count; i++) if (i != rarest) count = sift(cursorAt(query, i), i, places, count);
  if (whole == query.terms) {
    for (let i: u32 = 0; i < count; i++) setBit(bitmap, load<u32>(places + ((<usize>i) << 3), 4));
    return;
  }
  const ref = refAt(query, whole);
  for (let term = firstWith(query, run, whole); count && term < termCount(run) && startsWith(run, term, ref); term++) {
    confirm(cursorAt(query, whole), run, term, whole, places, count, bitmap);
  }
}

/** Sets the bits of the chunks that have the term at the end of the phrase. */
function confirm(cursor: Cursor, run: usize, term: u32, offset: u32, places: usize, count: u32, bitmap: usize): void {
  openCursor(cursor, run, term);
  let known: u32 = NONE;
  for (let i: u32 = 0; i < count && !atEnd(cursor); i++) {
    const ordinal = load<u32>(places + ((<usize>i) << 3), 4);
    if (ordinal == known || !isLive(run, ordinal)) continue;
    if (!stands(cursor, ordinal, load<u32>(places + ((<usize>i) << 3)) + offset)) continue;
    setBit(bitmap, ordinal);
    known = ordinal;
  }
}
