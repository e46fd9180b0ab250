// Chunks by sets of terms: those that have any of the terms named, those that have one of a range, in the order of
// bytes, and all there are. Each answers a bitmap. Any thread.
import { FULL, NONE } from '../../layout';
import { bitmapWords, openBitmap, setBit, setTerm } from './bitmap';
import { bytesOf, Head, HeadTerm, headTermAt, headTermCount, slotAt } from './head';
import { holds, setHeadTerm } from './prefix';
import { cursorAt, openQuery, Query, refAt, tailLengthOf, tailOf, TermRef } from './query';
import { findInHead } from './rank-head';
import { bytesAt, findTerm, lowerTerm, Segment, termLength } from './segment';
import { compareBytes } from './terms';
import { segmentAt, segmentCount } from './words';

/** A bitmap of the chunks that have any of the terms. Answers its words, or FULL. */
export function findAny(scratch: usize, root: usize, terms: u32): i32 {
  const query = openQuery(scratch, root, terms, 1);
  const bitmap = query ? openBitmap(scratch, query) : 0;
  if (!query || !bitmap) return FULL;
  for (let i: u32 = 0; i < segmentCount(query.list); i++) anyInSegment(query, segmentAt(query.list, i), bitmap);
  if (query.head) anyInHead(query, changetype<Head>(query.head), bitmap);
  return bitmapWords(query);
}

function anyInSegment(query: Query, segment: usize, bitmap: usize): void {
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    const term = findTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term >= 0) setTerm(bitmap, cursorAt(query, 0), segment, term);
  }
}

function anyInHead(query: Query, head: Head, bitmap: usize): void {
  for (let i: u32 = 0; i < query.terms; i++) {
    const term = findInHead(head, refAt(query, i));
    if (term != NONE) setHeadTerm(bitmap, query, headTermAt(head, term));
  }
}

/**
 * A bitmap of the chunks that have a term from the first of the question on to before the second. Where the third is
 * not empty, only terms count that hold it behind the bytes of the first; with `atEnd`, at their end. Answers its
 * words, or FULL.
 */
export function findRange(scratch: usize, root: usize, atEnd: bool): i32 {
  const query = openQuery(scratch, root, 3, 1);
  const bitmap = query ? openBitmap(scratch, query) : 0;
  if (!query || !bitmap) return FULL;
  for (let i: u32 = 0; i < segmentCount(query.list); i++) {
    const segment = segmentAt(query.list, i);
    const end = lowerIn(segment, refAt(query, 1));
    for (let term = lowerIn(segment, refAt(query, 0)); term < end; term++) {
      if (holdsPiece(query, bytesAt(segment, term, query.window), termLength(segment, term), atEnd))
        setTerm(bitmap, cursorAt(query, 0), segment, term);
    }
  }
  if (query.head) rangeInHead(query, changetype<Head>(query.head), atEnd, bitmap);
  return bitmapWords(query);
}

/** @inline */
function lowerIn(segment: usize, ref: TermRef): u32 {
  return lowerTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
}

function rangeInHead(query: Query, head: Head, atEnd: bool, bitmap: usize): void {
  for (let i: u32 = 0; i < headTermCount(head); i++) {
    const term = headTermAt(head, i);
    if (!term.chunks || order(head, term, refAt(query, 0)) < 0 || order(head, term, refAt(query, 1)) >= 0) continue;
    if (holdsPiece(query, bytesOf(head, term), term.length, atEnd)) setHeadTerm(bitmap, query, term);
  }
}

/** @inline */
function order(head: Head, term: HeadTerm, ref: TermRef): i32 {
  return compareBytes(bytesOf(head, term), term.length, ref.at, ref.length);
}

function holdsPiece(query: Query, at: usize, length: u32, atEnd: bool): bool {
  const piece = refAt(query, 2);
  const before = refAt(query, 0).length;
  return !piece.length || (length >= before && holds(at + before, length - before, piece, atEnd));
}

/** A bitmap of all chunks. Answers its words, or FULL. */
export function findLive(scratch: usize, root: usize): i32 {
  const query = openQuery(scratch, root, 0, 0);
  const bitmap = query ? openBitmap(scratch, query) : 0;
  if (!query || !bitmap) return FULL;
  for (let i: u32 = 0; i < segmentCount(query.list); i++) {
    const segment = changetype<Segment>(segmentAt(query.list, i));
    let to = bitmap + ((segment.first & ~63) >> 3);
    for (let at: usize = segment.bits; at < <usize>segment.bits + segment.bitsUsed; at += 8, to += 8)
      store<u64>(to, load<u64>(to) | load<u64>(at));
  }
  for (let slot: u32 = 0; slot < query.slots; slot++) {
    const ordinal = slotAt(changetype<Head>(query.head), slot).ordinal;
    if (ordinal != NONE) setBit(bitmap, ordinal);
  }
  return bitmapWords(query);
}
