// Terms by a part of theirs: those that begin with it, which stand together in a segment, and those that hold it
// anywhere or at their end, for which all terms are looked at: there are few beside the chunks. Any thread.
import { FULL, NONE, SCRATCH_OUTPUT } from '../../layout';
import { areaAt, ensureArea } from '../scratch';
import { bitmapWords, openBitmap, setBit, setTerm } from './bitmap';
import { bytesOf, entryAt, Head, HeadTerm, headTermAt, headTermCount, newestOf, slotAt } from './head';
import { cursorAt, openQuery, Query, refAt, tailLengthOf, tailOf, TermRef } from './query';
import { bytesAt, keyAt, longAt, lowerTerm, termAt, termCount, termLength } from './segment';
import { equalBytes } from './terms';
import { segmentAt, segmentCount } from './words';

/** Whether a term begins with the bytes of the question's. */
export function startsWith(segment: usize, term: u32, ref: TermRef): bool {
  const key = keyAt(segment, term);
  if (ref.length <= 8) return !ref.length || (key ^ ref.key) >> (64 - ((<u64>ref.length) << 3)) == 0;
  const long = longAt(segment, term);
  return (
    key == ref.key && long != 0 && load<u32>(long) >= ref.length && equalBytes(long + 12, tailOf(ref), ref.length - 8)
  );
}

/** @inline */
export function headStartsWith(head: Head, term: HeadTerm, ref: TermRef): bool {
  return term.length >= ref.length && equalBytes(bytesOf(head, term), ref.at, ref.length);
}

/** Sets the bits of all live chunks of the question's head that have the term. */
export function setHeadTerm(bitmap: usize, query: Query, term: HeadTerm): void {
  const head = changetype<Head>(query.head);
  for (let token = newestOf(term); token; token = entryAt(head, token - 1).before) {
    const slot = entryAt(head, token - 1).slot;
    const ordinal = slot < query.slots ? slotAt(head, slot).ordinal : NONE;
    if (ordinal != NONE) setBit(bitmap, ordinal);
  }
}

/**
 * A bitmap of the chunks with a term that holds the one given; with `atEnd`, ends with it. Answers its words, or FULL.
 */
export function findContaining(scratch: usize, root: usize, atEnd: bool): i32 {
  const query = openQuery(scratch, root, 1, 1);
  const bitmap = query ? openBitmap(scratch, query) : 0;
  if (!query || !bitmap) return FULL;
  const ref = refAt(query, 0);
  for (let i: u32 = 0; i < segmentCount(query.list); i++) {
    const segment = segmentAt(query.list, i);
    for (let term: u32 = 0; term < termCount(segment); term++) {
      const bytes = bytesAt(segment, term, query.window);
      if (holds(bytes, termLength(segment, term), ref, atEnd)) setTerm(bitmap, cursorAt(query, 0), segment, term);
    }
  }
  if (query.head) containingInHead(query, ref, atEnd, bitmap);
  return bitmapWords(query);
}

function containingInHead(query: Query, ref: TermRef, atEnd: bool, bitmap: usize): void {
  const head = changetype<Head>(query.head);
  for (let i: u32 = 0; i < headTermCount(head); i++) {
    const term = headTermAt(head, i);
    if (term.chunks && holds(bytesOf(head, term), term.length, ref, atEnd)) setHeadTerm(bitmap, query, term);
  }
}

/** Whole characters match whole characters: in UTF-8 no character is part of another. */
export function holds(at: usize, length: u32, ref: TermRef, atEnd: bool): bool {
  if (length < ref.length) return false;
  const last = length - ref.length;
  for (let i = atEnd ? last : 0; i <= last; i++) if (equalBytes(at + i, ref.at, ref.length)) return true;
  return false;
}

/**
 * Writes terms that begin with the one given to the output, each with a zero byte, at most `max` of the head and of
 * each segment: there may be some more than once. Answers their bytes, or FULL.
 */
export function listPrefixed(scratch: usize, root: usize, max: u32): i32 {
  const query = openQuery(scratch, root, 1, 0);
  if (!query) return FULL;
  // The first round counts, the second writes. What has become more between them is left out.
  const room = listAll(query, max, 0, NO_LIMIT) + 8;
  if (!ensureArea(scratch, SCRATCH_OUTPUT, room)) return FULL;
  return <i32>listAll(query, max, areaAt(scratch, SCRATCH_OUTPUT), room);
}

const NO_LIMIT: usize = -1;

function listAll(query: Query, max: u32, to: usize, room: usize): usize {
  const ref = refAt(query, 0);
  let bytes: usize = 0;
  for (let i: u32 = 0; i < segmentCount(query.list); i++) {
    const segment = segmentAt(query.list, i);
    let term = lowerTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
    for (let listed: u32 = 0; listed < max && term < termCount(segment) && startsWith(segment, term, ref); term++) {
      if (termAt(segment, term).count == termAt(segment, term).dead) continue;
      bytes += list(to, bytes, room, bytesAt(segment, term, query.window), termLength(segment, term));
      listed++;
    }
  }
  if (!query.head) return bytes;
  const head = changetype<Head>(query.head);
  for (let i: u32 = 0; i < headTermCount(head); i++) {
    const term = headTermAt(head, i);
    if (term.chunks && headStartsWith(head, term, ref))
      bytes += list(to, bytes, room, bytesOf(head, term), term.length);
  }
  return bytes;
}

/** The bytes that were added to those before, or would have been. */
function list(to: usize, at: usize, room: usize, bytes: usize, length: u32): usize {
  if (at + length >= room) return 0;
  if (to) {
    memory.copy(to + at, bytes, length);
    store<u8>(to + at + length, 0);
  }
  return length + 1;
}
