// Finds the k best chunks by BM25 with MaxScore over windows of ordinals (Turtle & Flood 1995; with block bounds, as in
// Lucene's block-max MaxScore). The postings of terms whose bounds together cannot make a chunk one of the k best are
// not processed; they are only looked up for chunks that other terms have found. The result is the same as that of
// scoring every chunk. Any thread.
import { FULL, NONE, SCRATCH_ALLOWED, SCRATCH_BEST, SCRATCH_OUTPUT } from '../../memory/layout';
import { areaAt, ensureAnswers, ensureArea } from '../memory/scratch';
import { bestBound, clearBest, isBestFull, offer, sortBest } from '../memory/top-k';
import { blockBoundOf, boundOf, weigh, weighBlock, weightIn, windowBoundOf } from './bm25';
import {
  Entry,
  MutableRun,
  Slot,
  entryAt,
  findSlot,
  mutableTermAt,
  newestOf,
  numberAt,
  placeOf,
  slotAt,
  tableOf,
} from './mutable-run';
import {
  Cursor,
  atEnd,
  baseOf,
  blockOf,
  countOf,
  lowerOrdinal,
  nextBlock,
  openCursor,
  ordinalAt,
  ordinalsOf,
  seek,
  seekBlock,
  unpackOrdinals,
  weightsOf,
} from './posting-list';
import { Query, TermRef, WINDOW, cursorAt, isAllowed, openQuery, refAt, tailLengthOf, tailOf } from './query';
import { BLOCK, Run, findTerm, hashOf, isLive, termAt } from './run';
import { runAt, runCount } from './text-index';
import { runWith } from './write';

// A window of ordinals has the sums of the weights of the processed terms and a mark for each chunk with such a term.

/** A key orders chunks by score, then by ordinal: the higher score first, then the lower ordinal. @inline */
function keyFor(score: u32, ordinal: u32): u64 {
  return ((<u64>score) << 32) | <u64>~ordinal;
}

/** @inline */
function raiseFloor(scratch: usize, query: Query): void {
  if (isBestFull(scratch)) query.floor = max(query.floor, bestBound(scratch));
}

/** @inline */
function ordered(query: Query, j: u32): Cursor {
  return changetype<Cursor>(<usize>load<u32>(<usize>query.order + ((<usize>j) << 2)));
}

/** The sum of the bounds of the terms before the j-th one in order. @inline */
function sumBefore(query: Query, j: u32): u32 {
  return load<u32>(<usize>query.sums + ((<usize>j) << 2));
}

/** Adds a term's weights to the sums of the window and marks its chunks. */
function addWindow(query: Query, cursor: Cursor, from: u32, end: u32): void {
  while (!atEnd(cursor) && baseOf(cursor, cursor.block) + 1 < end) {
    unpackOrdinals(cursor);
    weighBlock(query, cursor);
    const isLast = blockOf(cursor, cursor.block).last >= end;
    const begin = baseOf(cursor, cursor.block) + 1 < from ? lowerOrdinal(cursor, from) : 0;
    const stop = isLast ? lowerOrdinal(cursor, end) : countOf(cursor);
    addPostings(query, cursor, begin, stop, from);
    if (isLast) return;
    nextBlock(cursor);
  }
}

/** @inline */
function addPostings(query: Query, cursor: Cursor, begin: u32, stop: u32, from: u32): void {
  const window = <usize>query.window;
  const marks = <usize>query.marks;
  let at = ordinalsOf(cursor) + ((<usize>begin) << 2);
  let weight = weightsOf(cursor) + ((<usize>begin) << 2);
  for (const end = ordinalsOf(cursor) + ((<usize>stop) << 2); at < end; at += 4, weight += 4) {
    const slot = <usize>(load<u32>(at) - from);
    const sum = window + (slot << 2);
    store<u32>(sum, load<u32>(sum) + load<u32>(weight));
    const mark = marks + ((slot >> 6) << 3);
    store<u64>(mark, load<u64>(mark) | ((<u64>1) << (slot & 63)));
  }
}

/** Offers the chunks of the window that may be among the k best, and clears the window. */
function takeWindow(scratch: usize, query: Query, idle: u32, from: u32, end: u32): void {
  const rest = sumBefore(query, idle);
  for (let slot: u32 = 0; slot < end - from; slot += 64) {
    const at = <usize>query.marks + (slot >> 3);
    let mark = load<u64>(at);
    if (!mark) continue;
    store<u64>(at, 0);
    for (; mark; mark &= mark - 1) {
      const place = slot + <u32>ctz(mark);
      const sum = <usize>query.window + ((<usize>place) << 2);
      const score = load<u32>(sum);
      store<u32>(sum, 0);
      if (keyFor(score + rest, from + place) > query.floor) consider(scratch, query, idle, from + place, score);
    }
  }
}

/**
 * Completes the score of a chunk with the terms that were not processed, as long as it may be among the k best, and
 * offers it.
 */
function consider(scratch: usize, query: Query, idle: u32, ordinal: u32, partial: u32): void {
  if (!isLive(query.run, ordinal) || !isAllowed(query, ordinal)) return;
  let score = partial;
  for (let j = idle; j > 0; j--) {
    const cursor = ordered(query, j - 1);
    if (keyFor(score + sumBefore(query, j), ordinal) <= query.floor) return;
    seekBlock(cursor, ordinal);
    if (atEnd(cursor) || baseOf(cursor, cursor.block) + 1 > ordinal) continue;
    if (keyFor(score + sumBefore(query, j - 1) + blockBoundOf(query, cursor), ordinal) <= query.floor) return;
    score += weightIn(query, cursor, ordinal);
  }
  const key = keyFor(score, ordinal);
  if (key <= query.floor) return;
  offer(scratch, key);
  raiseFloor(scratch, query);
}

/** Ranks the chunks of one frozen run. */
function rankRun(scratch: usize, query: Query, run: usize): void {
  query.run = <u32>run;
  const terms = openCursors(query, run);
  const end = changetype<Run>(run).end;
  let width: u32 = WINDOW_FIRST;
  for (let from = changetype<Run>(run).first; from < end; ) {
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

/** The first windows are small, because nothing can be skipped until some hits are found. */
const WINDOW_FIRST: u32 = 256;

/** Opens cursors for the terms that the run has. Returns their number. */
function openCursors(query: Query, run: usize): u32 {
  let terms: u32 = 0;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    const term = findTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term < 0) continue;
    const cursor = cursorAt(query, terms);
    openCursor(cursor, run, term);
    cursor.factor = ref.factor;
    cursor.bound = boundOf(query, ref.factor, termAt(run, term).impact);
    cursor.windowBound = cursor.bound;
    sink(query, cursor, terms++);
  }
  let sum: u32 = 0;
  for (let j: u32 = 0; j < terms; j++) ordered(query, j).boundUpTo = sum += ordered(query, j).bound;
  return terms;
}

/**
 * Sorts the terms by their bounds in the window. Returns the number of leading terms that together cannot make a chunk
 * one of the k best.
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
 * Looking up chunks in a list takes as long as processing the list if it has at most so many postings for each posting
 * processed (node dist/load/main.js text peers with 1, 2 and 4).
 */
const LOOK_UP_POSTINGS: u32 = 1;

/**
 * Reduces the number of terms that are not processed: processing a short list is cheaper than looking up the chunks of
 * other terms in it.
 */
function fewerIdle(query: Query, terms: u32, idle: u32): u32 {
  let scanned: u32 = 0;
  for (let j = idle; j < terms; j++) scanned += postingsOf(ordered(query, j));
  let left = idle;
  for (; left > 0 && postingsOf(ordered(query, left - 1)) <= scanned * LOOK_UP_POSTINGS; left--)
    scanned += postingsOf(ordered(query, left - 1));
  return left;
}

/** @inline */
function postingsOf(cursor: Cursor): u32 {
  return (cursor.blockCount - 1) * BLOCK + cursor.lastCount;
}

/** Inserts the j-th cursor at its place among those before it. @inline */
function sink(query: Query, cursor: Cursor, j: u32): void {
  for (; j > 0 && ordered(query, j - 1).windowBound > cursor.windowBound; j--) {
    store<u32>(<usize>query.order + ((<usize>j) << 2), <u32>changetype<usize>(ordered(query, j - 1)));
  }
  store<u32>(<usize>query.order + ((<usize>j) << 2), <u32>changetype<usize>(cursor));
}

/** The first ordinal from `from` on that has a term which can matter; `end` if there is none. */
function nextOrdinal(scratch: usize, query: Query, terms: u32, from: u32, end: u32): u32 {
  raiseFloor(scratch, query);
  let next = end;
  for (let j: u32 = 0; j < terms && next > from; j++) {
    const cursor = cursorAt(query, j);
    // This term and all with smaller bounds cannot make a chunk one of the k best.
    if (keyFor(cursor.boundUpTo, from) <= query.floor) continue;
    seekBlock(cursor, from);
    if (atEnd(cursor)) continue;
    seek(cursor, from);
    next = min(next, ordinalAt(cursor, cursor.i));
  }
  return next;
}

/**
 * Ranks the chunks of the mutable run. The chains of the terms that can matter are followed from the newest token; the
 * other terms are counted in the tokens of the chunks found. It runs after the frozen runs, when the floor is high.
 */
function rankMutable(scratch: usize, query: Query, mutable: MutableRun): void {
  raiseFloor(scratch, query);
  let rest: u32 = 0;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    ref.mutable = findInMutable(mutable, ref);
    const bound = ref.mutable == NONE ? 0 : boundInMutable(query, mutable, ref);
    const isIdle = keyFor(rest + bound, 0) <= query.floor;
    if (isIdle) rest += bound;
    else if (bound) followChain(query, mutable, ref);
    ref.isIdle = isIdle;
  }
  for (let first: u32 = 0; first < query.slots; first += 64) takeSlots(scratch, query, mutable, first, rest);
}

/** The number of a term in the mutable run, or NONE. */
export function findInMutable(mutable: MutableRun, ref: TermRef): u32 {
  const table = tableOf(mutable);
  return table ? numberAt(placeOf(mutable, table, hashOf(ref.at, ref.length), ref.at, ref.length)) - 1 : NONE;
}

/** @inline */
function boundInMutable(query: Query, mutable: MutableRun, ref: TermRef): u32 {
  return weigh(query, ref.factor, mutableTermAt(mutable, ref.mutable).most, mutable.shortest);
}

/** Adds the weights of a term to the sums of the slots. Tokens of one chunk are adjacent in the chain. */
function followChain(query: Query, mutable: MutableRun, ref: TermRef): void {
  let token = newestOf(mutableTermAt(mutable, ref.mutable));
  while (token) {
    const slot = entryAt(mutable, token - 1).slot;
    let count: u32 = 0;
    for (; token && entryAt(mutable, token - 1).slot == slot; token = entryAt(mutable, token - 1).before) count++;
    if (slot >= query.slots) continue;
    const sum = <usize>query.window + ((<usize>slot) << 2);
    store<u32>(sum, load<u32>(sum) + weigh(query, ref.factor, count, slotAt(mutable, slot).length));
    const mark = <usize>query.marks + ((<usize>(slot >> 6)) << 3);
    store<u64>(mark, load<u64>(mark) | ((<u64>1) << (slot & 63)));
  }
}

function takeSlots(scratch: usize, query: Query, mutable: MutableRun, first: u32, rest: u32): void {
  const at = <usize>query.marks + (first >> 3);
  for (let mark = load<u64>(at); mark; mark &= mark - 1) {
    const number = first + <u32>ctz(mark);
    const slot = slotAt(mutable, number);
    const ordinal = slot.ordinal;
    let score = load<u32>(<usize>query.window + ((<usize>number) << 2));
    if (ordinal == NONE || keyFor(score + rest, ordinal) <= query.floor || !isAllowed(query, ordinal)) continue;
    score += restOf(query, mutable, slot);
    if (keyFor(score, ordinal) <= query.floor) continue;
    offer(scratch, keyFor(score, ordinal));
    raiseFloor(scratch, query);
  }
}

/** The sum of the weights of the terms whose chains were not followed. */
function restOf(query: Query, mutable: MutableRun, slot: Slot): u32 {
  let score: u32 = 0;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    if (!ref.isIdle || ref.mutable == NONE) continue;
    const count = countInSlot(mutable, slot, ref.mutable);
    if (count) score += weigh(query, ref.factor, count, slot.length);
  }
  return score;
}

/** The number of occurrences of a term in a chunk of the mutable run. */
function countInSlot(mutable: MutableRun, slot: Slot, term: u32): u32 {
  let count: u32 = 0;
  let at = changetype<usize>(entryAt(mutable, slot.first));
  for (const end = at + <usize>slot.length * offsetof<Entry>(); at < end; at += offsetof<Entry>())
    count += load<u32>(at) == term ? 1 : 0;
  return count;
}

// Exact counts: the number of live chunks with each term of a query, and the number of the terms in each of given
// chunks.

/** Writes the document frequency of each term to the output area, one word each. Returns `terms`, or FULL. */
export function countTerms(scratch: usize, root: usize, terms: u32): i32 {
  const query = openQuery(scratch, root, terms, 0);
  if (!query || !ensureArea(scratch, SCRATCH_OUTPUT, (<usize>terms) << 2)) return FULL;
  for (let i: u32 = 0; i < terms; i++)
    store<u32>(areaAt(scratch, SCRATCH_OUTPUT) + ((<usize>i) << 2), frequencyOf(query, i));
  return terms;
}

function frequencyOf(query: Query, i: u32): u32 {
  const ref = refAt(query, i);
  let frequency: u32 = 0;
  if (query.mutable) {
    const mutable = changetype<MutableRun>(query.mutable);
    const number = findInMutable(mutable, ref);
    if (number != NONE) frequency += mutableTermAt(mutable, number).chunks;
  }
  for (let j: u32 = 0; j < runCount(query.list); j++) {
    const run = runAt(query.list, j);
    const term = findTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term >= 0) frequency += termAt(run, term).count - termAt(run, term).dead;
  }
  return frequency;
}

/**
 * Replaces each of `chunks` ordinals at `ordinals` by the sum of the weights of the query's terms that its chunk has.
 * The factor of a term is its weight as a whole number; a negative one continues the group of the term before, and of
 * the terms of a group only the first that the chunk has counts. Returns `chunks`, or FULL.
 */
export function matchTerms(scratch: usize, root: usize, terms: u32, ordinals: usize, chunks: u32): i32 {
  const query = openQuery(scratch, root, terms, 1);
  if (!query) return FULL;
  if (query.mutable)
    for (let i: u32 = 0; i < terms; i++)
      refAt(query, i).mutable = findInMutable(changetype<MutableRun>(query.mutable), refAt(query, i));
  for (let i: u32 = 0; i < chunks; i++) {
    const at = ordinals + ((<usize>i) << 2);
    store<u32>(at, matchedIn(query, load<u32>(at)));
  }
  return chunks;
}

function matchedIn(query: Query, ordinal: u32): u32 {
  const run = runWith(query.list, ordinal);
  const mutable = changetype<MutableRun>(query.mutable);
  const slot = !run && query.mutable ? findSlot(mutable, query.slots, ordinal) : NONE;
  let matched: u32 = 0;
  let isFound: bool = false;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    if (ref.factor < 0 && isFound) continue;
    if (run) {
      const term = findTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
      isFound = term >= 0 && hasOrdinal(cursorAt(query, 0), run, term, ordinal);
    } else
      isFound = slot != NONE && ref.mutable != NONE && countInSlot(mutable, slotAt(mutable, slot), ref.mutable) > 0;
    if (isFound) matched += <u32>abs(ref.factor);
  }
  return matched;
}

function hasOrdinal(cursor: Cursor, run: usize, term: u32, ordinal: u32): bool {
  openCursor(cursor, run, term);
  seek(cursor, ordinal);
  return !atEnd(cursor) && ordinalAt(cursor, cursor.i) == ordinal;
}

/**
 * Ranks all chunks of a text index for the terms in the input area: the frozen runs in the order of their ordinals, so
 * that ties are settled early, then the mutable run. Writes the ordinals and integer scores of the k best chunks to the
 * output area, two arrays of k words, and returns the number of hits, or FULL. `norm` and `normPerToken` are the BM25
 * length normalization (query.ts). `allowed` is the number of ordinals in the filter bitmap, NONE for no filter.
 */
export function rankTerms(
  scratch: usize,
  root: usize,
  terms: u32,
  k: u32,
  norm: f32,
  normPerToken: f32,
  allowed: u32,
): i32 {
  const query = openQuery(scratch, root, terms, terms);
  if (!query || !ensureAnswers(scratch, k)) return FULL;
  query.norm = norm;
  query.normPerToken = normPerToken;
  if (allowed != NONE) {
    query.allowed = <u32>areaAt(scratch, SCRATCH_ALLOWED);
    query.allowedEnd = allowed;
  }
  clearBest(scratch, k);
  for (let i: u32 = 0; i < runCount(query.list); i++) rankRun(scratch, query, runAt(query.list, i));
  if (query.mutable) rankMutable(scratch, query, changetype<MutableRun>(query.mutable));
  const count = sortBest(scratch);
  writeAnswer(scratch, k, count);
  return count;
}

function writeAnswer(scratch: usize, k: u32, count: u32): void {
  const best = areaAt(scratch, SCRATCH_BEST);
  const output = areaAt(scratch, SCRATCH_OUTPUT);
  for (let i: u32 = 0; i < count; i++) {
    const key = load<u64>(best + ((<usize>i) << 3));
    store<u32>(output + ((<usize>i) << 2), ~(<u32>key));
    store<u32>(output + ((<usize>(k + i)) << 2), <u32>(key >> 32));
  }
}
