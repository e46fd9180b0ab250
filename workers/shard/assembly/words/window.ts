// A window of ordinals: the sums of the weights of the terms that are walked, a mark for each chunk that has one, and
// what is done with those that may be among the best. Used by rank.ts and rank-head.ts, within one question. Any
// thread.
import { bestBound, isBestFull, offer } from '../best';
import {
  atEnd,
  baseOf,
  blockOf,
  countOf,
  Cursor,
  lowerOrdinal,
  nextBlock,
  ordinalsOf,
  seekBlock,
  weightsOf,
} from './cursor';
import { isLive } from './live';
import { isAllowed, Query } from './query';
import { blockBoundOf, weighBlock, weightIn } from './score';
import { unpackOrdinals } from './unpack';

/** A chunk's place among all: higher is better; of equal scores the lower ordinal. @inline */
export function keyFor(score: u32, ordinal: u32): u64 {
  return ((<u64>score) << 32) | <u64>~ordinal;
}

/** @inline */
export function raiseFloor(scratch: usize, query: Query): void {
  if (isBestFull(scratch)) query.floor = max(query.floor, bestBound(scratch));
}

/** @inline */
export function ordered(query: Query, j: u32): Cursor {
  return changetype<Cursor>(<usize>load<u32>(<usize>query.order + ((<usize>j) << 2)));
}

/** What terms before the j-th in order can add together. @inline */
function sumBefore(query: Query, j: u32): u32 {
  return load<u32>(<usize>query.sums + ((<usize>j) << 2));
}

/** Adds a term's weights to the sums of the window and marks the chunks that have it. */
export function addWindow(query: Query, cursor: Cursor, from: u32, end: u32): void {
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

/** Offers the chunks of the window that may be among the best, and clears it. */
export function takeWindow(scratch: usize, query: Query, idle: u32, from: u32, end: u32): void {
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

/** Completes a chunk's score with the terms that were not walked, as long as it may be among the best. */
function consider(scratch: usize, query: Query, idle: u32, ordinal: u32, partial: u32): void {
  if (!isLive(query.segment, ordinal) || !isAllowed(query, ordinal)) return;
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
