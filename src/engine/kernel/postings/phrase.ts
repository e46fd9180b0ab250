// Chunks in which tokens follow each other, the last one perhaps only begun: places of the rarest token are gathered
// and then sifted by each of the others. Answers a bitmap. Any thread.
import { FULL, SCRATCH_ALLOWED } from '../../layout';
import { areaAt, ensureArea } from '../scratch';
import { bitmapWords, openBitmap, setBit, setTerm } from './bitmap';
import { atEnd, Cursor, openCursor } from './cursor';
import { Head } from './head';
import { isLive } from './live';
import { phraseInHead } from './phrase-head';
import { gather, PLACES_MAX, sift, stands } from './places';
import { startsWith } from './prefix';
import { cursorAt, openQuery, Query, refAt, tailLengthOf, tailOf } from './query';
import { findTerm, lowerTerm, termAt, termCount } from './segment';
import { segmentAt, segmentCount } from './words';

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
  let fewest: u32 = 0xffffffff;
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
  let known: u32 = 0xffffffff;
  for (let i: u32 = 0; i < count && !atEnd(cursor); i++) {
    const ordinal = load<u32>(places + ((<usize>i) << 3), 4);
    if (ordinal == known || !isLive(segment, ordinal)) continue;
    if (!stands(cursor, ordinal, load<u32>(places + ((<usize>i) << 3)) + offset)) continue;
    setBit(bitmap, ordinal);
    known = ordinal;
  }
}
