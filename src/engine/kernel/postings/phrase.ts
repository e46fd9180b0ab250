// Chunks in which tokens follow each other, the last one perhaps only begun: places of the rarest token are gathered
// and then sifted by each of the others. Answers a bitmap. Any thread.
import { FULL, NONE, SCRATCH_ALLOWED } from '../../memory/layout';
import { areaAt, ensureArea } from '../memory/scratch';
import { Head, Slot, entryAt, headTermAt, headTermCount, newestOf, slotAt } from './mutable-run';
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
import { findInHead } from './rank';
import { Segment, findTerm, isLive, lowerTerm, termAt, termCount } from './run';
import { bitmapWords, headStartsWith, openBitmap, setBit, setHeadTerm, setTerm, startsWith } from './term-bitmaps';
import { segmentAt, segmentCount } from './text-index';

// Phrases in the head: its tokens stand in their order, so at every place of the rarest one its neighbours are looked
// at.

/**
 * Sets the bits of the head's chunks that have the phrase: `whole` terms, and the beginning of one where the question
 * has one more.
 */
function phraseInHead(query: Query, head: Head, whole: u32, bitmap: usize): void {
  if (!whole) return prefixInHead(query, head, bitmap);
  let rarest: u32 = 0;
  let fewest: u32 = NONE;
  for (let i: u32 = 0; i < whole; i++) {
    const ref = refAt(query, i);
    ref.head = findInHead(head, ref);
    if (ref.head == NONE) return;
    if (headTermAt(head, ref.head).tokens >= fewest) continue;
    fewest = headTermAt(head, ref.head).tokens;
    rarest = i;
  }
  for (
    let token = newestOf(headTermAt(head, refAt(query, rarest).head));
    token;
    token = entryAt(head, token - 1).before
  ) {
    const number = entryAt(head, token - 1).slot;
    if (number >= query.slots) continue;
    const slot = slotAt(head, number);
    const ordinal = slot.ordinal;
    if (ordinal != NONE && token - 1 >= slot.first + rarest && standsAt(query, head, whole, token - 1 - rarest, slot))
      setBit(bitmap, ordinal);
  }
}

function prefixInHead(query: Query, head: Head, bitmap: usize): void {
  for (let i: u32 = 0; i < headTermCount(head); i++) {
    if (headStartsWith(head, headTermAt(head, i), refAt(query, 0))) setHeadTerm(bitmap, query, headTermAt(head, i));
  }
}

/** Whether the phrase stands at a token of the chunk. */
function standsAt(query: Query, head: Head, whole: u32, token: u32, slot: Slot): bool {
  if (token + query.terms > slot.first + slot.length) return false;
  for (let i: u32 = 0; i < whole; i++) if (entryAt(head, token + i).term != refAt(query, i).head) return false;
  if (whole == query.terms) return true;
  return headStartsWith(head, headTermAt(head, entryAt(head, token + whole).term), refAt(query, whole));
}

// Places where a phrase may begin: a chunk's ordinal and a position in it, as one number, in rising order. Gathered
// from the postings of one token and sifted by those of others.

/** Room for the positions of any one chunk, and of many. */
const PLACES_MAX: u32 = 131072;

/** Takes places from the cursor on, for a token that stands `offset` behind the beginning; answers how many. */
function gather(cursor: Cursor, offset: u32, places: usize): u32 {
  let found: u32 = 0;
  while (!atEnd(cursor)) {
    unpackOrdinals(cursor);
    unpackStarts(cursor);
    const ordinal = ordinalAt(cursor, cursor.i);
    const start = startOf(cursor, cursor.i);
    const end = startOf(cursor, cursor.i + 1);
    if (found + end - start > PLACES_MAX) return found;
    if (isLive(cursor.segment, ordinal)) found = addPlaces(cursor, ordinal, start, end, offset, places, found);
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

/** Keeps the places that have the cursor's token `offset` behind them; answers how many. */
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

/** Whether the cursor's token stands at a position of a chunk. Asked in rising order of chunks. */
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

/** Where the positions of each posting of the block begin, in the place of weights. */
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
  return readRun(<usize>changetype<Segment>(cursor.segment).positions + block.positions, i, block.positionBits);
}

/**
 * Writes the bitmap to the output, and answers its words, or FULL. The terms need not be distinct; there is at least
 * one.
 */
export function findPhrase(scratch: usize, root: usize, terms: u32, lastIsPrefix: bool): i32 {
  const query = openQuery(scratch, root, terms, terms);
  if (!query || !ensureArea(scratch, SCRATCH_ALLOWED, (<usize>PLACES_MAX) << 3)) return FULL;
  const bitmap = openBitmap(scratch, query);
  if (!bitmap) return FULL;
  const whole = lastIsPrefix ? terms - 1 : terms;
  for (let i: u32 = 0; i < segmentCount(query.list); i++) {
    if (whole) phraseInSegment(query, areaAt(scratch, SCRATCH_ALLOWED), segmentAt(query.list, i), whole, bitmap);
    else prefixInSegment(query, segmentAt(query.list, i), bitmap);
  }
  if (query.head) phraseInHead(query, changetype<Head>(query.head), whole, bitmap);
  return bitmapWords(query);
}

function prefixInSegment(query: Query, segment: usize, bitmap: usize): void {
  const ref = refAt(query, 0);
  for (let term = firstWith(query, segment, 0); term < termCount(segment) && startsWith(segment, term, ref); term++) {
    setTerm(bitmap, cursorAt(query, 0), segment, term);
  }
}

/** The first term that may begin with the i-th of the question. */
function firstWith(query: Query, segment: usize, i: u32): u32 {
  const ref = refAt(query, i);
  return lowerTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
}

function phraseInSegment(query: Query, places: usize, segment: usize, whole: u32, bitmap: usize): void {
  let rarest: u32 = 0;
  let fewest: u32 = NONE;
  for (let i: u32 = 0; i < whole; i++) {
    const ref = refAt(query, i);
    const term = findTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term < 0) return;
    openCursor(cursorAt(query, i), segment, term);
    if (termAt(segment, term).count >= fewest) continue;
    fewest = termAt(segment, term).count;
    rarest = i;
  }
  const driver = cursorAt(query, rarest);
  while (!atEnd(driver)) siftBatch(query, places, segment, whole, rarest, bitmap);
}

/**
 * Gathers as many places of the rarest token as there is room for, and marks the chunks of those that all the others
 * confirm.
 */
function siftBatch(query: Query, places: usize, segment: usize, whole: u32, rarest: u32, bitmap: usize): void {
  let count = gather(cursorAt(query, rarest), rarest, places);
  for (let i: u32 = 0; i < whole && count; i++) if (i != rarest) count = sift(cursorAt(query, i), i, places, count);
  if (whole == query.terms) {
    for (let i: u32 = 0; i < count; i++) setBit(bitmap, load<u32>(places + ((<usize>i) << 3), 4));
    return;
  }
  const ref = refAt(query, whole);
  for (
    let term = firstWith(query, segment, whole);
    count && term < termCount(segment) && startsWith(segment, term, ref);
    term++
  ) {
    confirm(cursorAt(query, whole), segment, term, whole, places, count, bitmap);
  }
}

/** Marks the chunks in which the term stands where the phrase ends. */
function confirm(
  cursor: Cursor,
  segment: usize,
  term: u32,
  offset: u32,
  places: usize,
  count: u32,
  bitmap: usize,
): void {
  openCursor(cursor, segment, term);
  let known: u32 = NONE;
  for (let i: u32 = 0; i < count && !atEnd(cursor); i++) {
    const ordinal = load<u32>(places + ((<usize>i) << 3), 4);
    if (ordinal == known || !isLive(segment, ordinal)) continue;
    if (!stands(cursor, ordinal, load<u32>(places + ((<usize>i) << 3)) + offset)) continue;
    setBit(bitmap, ordinal);
    known = ordinal;
  }
}
