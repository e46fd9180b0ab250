// The k best chunks by BM25: MaxScore over windows of ordinals (Turtle & Flood 1995; with bounds of blocks as in
// Lucene's block-max MaxScore). Terms whose bounds together cannot lift a chunk among the best are not walked, only
// looked up for chunks that others have found. The answer is that of scoring everything: keys order by score, then by
// ordinal. Any thread.
import { atEnd, Cursor, openCursor, ordinalAt, seekBlock } from './cursor';
import { cursorAt, Query, refAt, tailLengthOf, tailOf, WINDOW } from './query';
import { windowBoundOf } from './score';
import { BLOCK, findTerm, Segment, termAt } from './segment';
import { seek } from './unpack';
import { boundOf } from './weigh';
import { addWindow, keyFor, ordered, raiseFloor, takeWindow } from './window';

/** Ranks the chunks of one segment into the best. */
export function rankSegment(scratch: usize, query: Query, segment: usize): void {
  query.segment = <u32>segment;
  const terms = openCursors(query, segment);
  const end = changetype<Segment>(segment).end;
  let width: u32 = WINDOW_FIRST;
  for (let from = changetype<Segment>(segment).first; from < end; ) {
    raiseFloor(scratch, query);
    const windowEnd = min(from + width, end);
    const idle = orderTerms(query, terms, from, windowEnd);
    if (idle < terms) {
      for (let j = idle; j < terms; j++) addWindow(query, ordered(query, j), from, windowEnd);
      takeWindow(scratch, query, idle, from, windowEnd);
    }
    width = min(width << 1, WINDOW);
    from = nextOrdinal(scratch, query, terms, windowEnd, end);
  }
}

/** The first windows are small: while little is found, nothing can be left out. */
const WINDOW_FIRST: u32 = 256;

/** Cursors for the terms that the segment has; answers how many. */
function openCursors(query: Query, segment: usize): u32 {
  let terms: u32 = 0;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    const term = findTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term < 0) continue;
    const cursor = cursorAt(query, terms);
    openCursor(cursor, segment, term);
    cursor.factor = ref.factor;
    cursor.bound = boundOf(query, ref.factor, termAt(segment, term).impact);
    cursor.windowBound = cursor.bound;
    sink(query, cursor, terms++);
  }
  let sum: u32 = 0;
  for (let j: u32 = 0; j < terms; j++) ordered(query, j).boundUpTo = sum += ordered(query, j).bound;
  return terms;
}

/**
 * Sorts the terms by what they can add within the window, and answers how many of the first ones cannot make a chunk
 * one of the best.
 */
function orderTerms(query: Query, terms: u32, from: u32, end: u32): u32 {
  for (let j: u32 = 0; j < terms; j++) {
    const cursor = ordered(query, j);
    seekBlock(cursor, from);
    cursor.windowBound = windowBoundOf(query, cursor, end);
    sink(query, cursor, j);
  }
  let sum: u32 = 0;
  let idle: u32 = 0;
  for (let j: u32 = 0; j < terms; j++) {
    store<u32>(<usize>query.sums + ((<usize>j) << 2), sum);
    sum += ordered(query, j).windowBound;
    if (keyFor(sum, from) <= query.floor || !sum) idle = j + 1;
  }
  store<u32>(<usize>query.sums + ((<usize>terms) << 2), sum);
  return fewerIdle(query, terms, idle);
}

/**
 * Looking chunks up in a list costs as much as walking it where it has no more than so many postings for each one
 * walked (node dist/load/words.js: 1, 2 and 4).
 */
const LOOK_UP_POSTINGS: u32 = 1;

/** Short lists are walked all the same: that is cheaper than looking up what the others find. */
function fewerIdle(query: Query, terms: u32, idle: u32): u32 {
  let walked: u32 = 0;
  for (let j = idle; j < terms; j++) walked += postingsOf(ordered(query, j));
  let left = idle;
  for (; left > 0 && postingsOf(ordered(query, left - 1)) <= walked * LOOK_UP_POSTINGS; left--)
    walked += postingsOf(ordered(query, left - 1));
  return left;
}

/** @inline */
function postingsOf(cursor: Cursor): u32 {
  return (cursor.blockCount - 1) * BLOCK + cursor.lastCount;
}

/** Puts the j-th cursor to its place among those before it. @inline */
function sink(query: Query, cursor: Cursor, j: u32): void {
  for (; j > 0 && ordered(query, j - 1).windowBound > cursor.windowBound; j--) {
    store<u32>(<usize>query.order + ((<usize>j) << 2), <u32>changetype<usize>(ordered(query, j - 1)));
  }
  store<u32>(<usize>query.order + ((<usize>j) << 2), <u32>changetype<usize>(cursor));
}

/** The first ordinal at or behind `from` that has a term which can matter; `end` where there is none. */
function nextOrdinal(scratch: usize, query: Query, terms: u32, from: u32, end: u32): u32 {
  raiseFloor(scratch, query);
  let next = end;
  for (let j: u32 = 0; j < terms && next > from; j++) {
    const cursor = cursorAt(query, j);
    // What this term and all smaller ones cannot lift among the best, it finds in vain.
    if (keyFor(cursor.boundUpTo, from) <= query.floor) continue;
    seekBlock(cursor, from);
    if (atEnd(cursor)) continue;
    seek(cursor, from);
    next = min(next, ordinalAt(cursor, cursor.i));
  }
  return next;
}
