// Bitmaps of the chunks that have certain terms: any of a set of terms, any of a range, or any that contains a string.
// Terms with a common prefix are adjacent in a frozen run; for a string elsewhere in a term all terms are scanned,
// which are few compared to the chunks. Any thread.
import { FULL, NONE, SCRATCH_OUTPUT } from '../../memory/layout';
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
import { Query, TermRef, cursorAt, openQuery, refAt, tailLengthOf, tailOf } from './query';
import { findInMutable } from './rank';
import {
  Run,
  bytesAt,
  compareBytes,
  equalBytes,
  findTerm,
  isLive,
  keyAt,
  longAt,
  lowerTerm,
  termAt,
  termCount,
  termLength,
} from './run';
import { runAt, runCount } from './text-index';

// A result bitmap has one bit for each ordinal and is in the output area of the scratch.

/** The number of 32-bit words in a bitmap of all ordinals of a query. */
export function bitmapWords(query: Query): u32 {
  return (query.end + 31) >> 5;
}

/** Makes an empty bitmap in the output area. Returns its address, or 0 when memory is full. */
export function openBitmap(scratch: usize, query: Query): usize {
  const bytes = (<usize>(bitmapWords(query) + 2)) << 2;
  if (!ensureArea(scratch, SCRATCH_OUTPUT, bytes)) return 0;
  const at = areaAt(scratch, SCRATCH_OUTPUT);
  memory.fill(at, 0, bytes);
  return at;
}

/** @inline */
export function setBit(bitmap: usize, ordinal: u32): void {
  const word = bitmap + ((<usize>(ordinal >> 5)) << 2);
  store<u32>(word, load<u32>(word) | (1 << (ordinal & 31)));
}

/** Sets the bits of all live chunks of a run that have the term. */
export function setTerm(bitmap: usize, cursor: Cursor, run: usize, term: u32): void {
  const isWhole = termAt(run, term).dead == 0;
  for (openCursor(cursor, run, term); !atEnd(cursor); nextBlock(cursor)) {
    if (isWhole && blockOf(cursor, cursor.block).isBitmap) {
      joinBits(bitmap, cursor);
      continue;
    }
    unpackOrdinals(cursor);
    for (let i: u32 = 0; i < countOf(cursor); i++) {
      const ordinal = ordinalAt(cursor, i);
      if (isWhole || isLive(run, ordinal)) setBit(bitmap, ordinal);
    }
  }
}

/** Copies a block that is stored as a bitmap, shifted to its first ordinal. */
function joinBits(bitmap: usize, cursor: Cursor): void {
  const base = baseOf(cursor, cursor.block);
  const from = bitmapAt(cursor);
  const bytes = bitmapBytes(blockOf(cursor, cursor.block).last - base);
  const shift = <u64>((base + 1) & 63);
  let to = bitmap + (((base + 1) & ~63) >> 3);
  for (let at = from; at < from + bytes; at += 8, to += 8) {
    const bits = load<u64>(at);
    store<u64>(to, load<u64>(to) | (bits << shift));
    const above = shift ? bits >> (64 - shift) : 0;
    // There may be no room after the last chunk, where nothing has to be written.
    if (above) store<u64>(to, load<u64>(to, 8) | above, 8);
  }
}

/** True when a term of a run begins with a term of the query. */
export function startsWith(run: usize, term: u32, ref: TermRef): bool {
  const key = keyAt(run, term);
  if (ref.length <= 8) return !ref.length || (key ^ ref.key) >> (64 - ((<u64>ref.length) << 3)) == 0;
  const long = longAt(run, term);
  return (
    key == ref.key && long != 0 && load<u32>(long) >= ref.length && equalBytes(long + 12, tailOf(ref), ref.length - 8)
  );
}

/** @inline */
export function mutableStartsWith(mutable: MutableRun, term: MutableTerm, ref: TermRef): bool {
  return term.length >= ref.length && equalBytes(bytesOf(mutable, term), ref.at, ref.length);
}

/** Sets the bits of all live chunks in the mutable run that have the term. */
export function setMutableTerm(bitmap: usize, query: Query, term: MutableTerm): void {
  const mutable = changetype<MutableRun>(query.mutable);
  for (let token = newestOf(term); token; token = entryAt(mutable, token - 1).before) {
    const slot = entryAt(mutable, token - 1).slot;
    const ordinal = slot < query.slots ? slotAt(mutable, slot).ordinal : NONE;
    if (ordinal != NONE) setBit(bitmap, ordinal);
  }
}

/**
 * Writes a bitmap of the chunks with a term that contains the query's term or, with `atEnd`, ends with it. Returns its
 * number of 32-bit words, or FULL.
 */
export function findContaining(scratch: usize, root: usize, atEnd: bool): i32 {
  const query = openQuery(scratch, root, 1, 1);
  const bitmap = query ? openBitmap(scratch, query) : 0;
  if (!query || !bitmap) return FULL;
  const ref = refAt(query, 0);
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = runAt(query.list, i);
    for (let term: u32 = 0; term < termCount(run); term++) {
      const bytes = bytesAt(run, term, query.window);
      if (holds(bytes, termLength(run, term), ref, atEnd)) setTerm(bitmap, cursorAt(query, 0), run, term);
    }
  }
  if (query.mutable) containingInMutable(query, ref, atEnd, bitmap);
  return bitmapWords(query);
}

function containingInMutable(query: Query, ref: TermRef, atEnd: bool, bitmap: usize): void {
  const mutable = changetype<MutableRun>(query.mutable);
  for (let i: u32 = 0; i < mutableTermCount(mutable); i++) {
    const term = mutableTermAt(mutable, i);
    if (term.chunks && holds(bytesOf(mutable, term), term.length, ref, atEnd)) setMutableTerm(bitmap, query, term);
  }
}

/**
 * True when a term contains `ref`, or ends with it. Comparing bytes is enough, because in UTF-8 no character is part of
 * another.
 */
function holds(at: usize, length: u32, ref: TermRef, atEnd: bool): bool {
  if (length < ref.length) return false;
  const last = length - ref.length;
  for (let i = atEnd ? last : 0; i <= last; i++) if (equalBytes(at + i, ref.at, ref.length)) return true;
  return false;
}

/**
 * Writes the terms that begin with the query's term to the output area, each with a terminating zero byte: at most
 * `max` from each frozen run, and all from the mutable run. A term may occur more than once. Returns the number of
 * bytes, or FULL.
 */
export function listPrefixed(scratch: usize, root: usize, max: u32): i32 {
  const query = openQuery(scratch, root, 1, 0);
  if (!query) return FULL;
  // The first pass counts and the second one writes. Terms added between the two may be left out.
  const bytesMax = listAll(query, max, 0, NO_LIMIT) + 8;
  if (!ensureArea(scratch, SCRATCH_OUTPUT, bytesMax)) return FULL;
  return <i32>listAll(query, max, areaAt(scratch, SCRATCH_OUTPUT), bytesMax);
}

const NO_LIMIT: usize = -1;

function listAll(query: Query, max: u32, to: usize, bytesMax: usize): usize {
  const ref = refAt(query, 0);
  let bytes: usize = 0;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = runAt(query.list, i);
    let term = lowerTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
    for (let listed: u32 = 0; listed < max && term < termCount(run) && startsWith(run, term, ref); term++) {
      if (termAt(run, term).count == termAt(run, term).dead) continue;
      bytes += list(to, bytes, bytesMax, bytesAt(run, term, query.window), termLength(run, term));
      listed++;
    }
  }
  if (!query.mutable) return bytes;
  const mutable = changetype<MutableRun>(query.mutable);
  for (let i: u32 = 0; i < mutableTermCount(mutable); i++) {
    const term = mutableTermAt(mutable, i);
    if (term.chunks && mutableStartsWith(mutable, term, ref))
      bytes += list(to, bytes, bytesMax, bytesOf(mutable, term), term.length);
  }
  return bytes;
}

/**
 * Writes the terms in the range from the first term of the query, inclusive, to the second, exclusive, to the output
 * area as `listPrefixed` does: of each frozen run the first `max` or, with `backward`, the last ones in descending
 * order; and all of the mutable run. Returns the number of bytes, or FULL.
 */
export function listRange(scratch: usize, root: usize, max: u32, backward: bool): i32 {
  const query = openQuery(scratch, root, 2, 0);
  if (!query) return FULL;
  const bytesMax = listBetween(query, max, backward, 0, NO_LIMIT) + 8;
  if (!ensureArea(scratch, SCRATCH_OUTPUT, bytesMax)) return FULL;
  return <i32>listBetween(query, max, backward, areaAt(scratch, SCRATCH_OUTPUT), bytesMax);
}

function listBetween(query: Query, max: u32, backward: bool, to: usize, bytesMax: usize): usize {
  let bytes: usize = 0;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = runAt(query.list, i);
    const first = lowerIn(run, refAt(query, 0));
    const end = lowerIn(run, refAt(query, 1));
    for (let at: u32 = first, listed: u32 = 0; at < end && listed < max; at++) {
      const term = backward ? end - 1 - (at - first) : at;
      if (termAt(run, term).count == termAt(run, term).dead) continue;
      bytes += list(to, bytes, bytesMax, bytesAt(run, term, query.window), termLength(run, term));
      listed++;
    }
  }
  if (!query.mutable) return bytes;
  const mutable = changetype<MutableRun>(query.mutable);
  for (let i: u32 = 0; i < mutableTermCount(mutable); i++) {
    const term = mutableTermAt(mutable, i);
    if (!term.chunks || !inRange(query, mutable, term)) continue;
    bytes += list(to, bytes, bytesMax, bytesOf(mutable, term), term.length);
  }
  return bytes;
}

/**
 * Appends a term after `at` bytes if there is room. Returns the number of bytes that it takes. With `to` = 0 it only
 * counts.
 */
function list(to: usize, at: usize, bytesMax: usize, bytes: usize, length: u32): usize {
  if (at + length >= bytesMax) return 0;
  if (to) {
    memory.copy(to + at, bytes, length);
    store<u8>(to + at + length, 0);
  }
  return length + 1;
}

// Bitmaps by sets of terms: those in the query, those in a range of byte order, or all.

/** Writes a bitmap of the chunks with any of the query's terms. Returns its number of 32-bit words, or FULL. */
export function findAny(scratch: usize, root: usize, terms: u32): i32 {
  const query = openQuery(scratch, root, terms, 1);
  const bitmap = query ? openBitmap(scratch, query) : 0;
  if (!query || !bitmap) return FULL;
  for (let i: u32 = 0; i < runCount(query.list); i++) anyInRun(query, runAt(query.list, i), bitmap);
  if (query.mutable) anyInMutable(query, changetype<MutableRun>(query.mutable), bitmap);
  return bitmapWords(query);
}

function anyInRun(query: Query, run: usize, bitmap: usize): void {
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    const term = findTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term >= 0) setTerm(bitmap, cursorAt(query, 0), run, term);
  }
}

function anyInMutable(query: Query, mutable: MutableRun, bitmap: usize): void {
  for (let i: u32 = 0; i < query.terms; i++) {
    const term = findInMutable(mutable, refAt(query, i));
    if (term != NONE) setMutableTerm(bitmap, query, mutableTermAt(mutable, term));
  }
}

/**
 * Writes a bitmap of the chunks with a term in the range from the first term of the query, inclusive, to the second,
 * exclusive. If the third is not empty, only terms count that contain it after the bytes of the first or, with `atEnd`,
 * end with it. Returns the number of 32-bit words, or FULL.
 */
export function findRange(scratch: usize, root: usize, atEnd: bool): i32 {
  const query = openQuery(scratch, root, 3, 1);
  const bitmap = query ? openBitmap(scratch, query) : 0;
  if (!query || !bitmap) return FULL;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = runAt(query.list, i);
    const end = lowerIn(run, refAt(query, 1));
    for (let term = lowerIn(run, refAt(query, 0)); term < end; term++) {
      if (holdsPiece(query, bytesAt(run, term, query.window), termLength(run, term), atEnd))
        setTerm(bitmap, cursorAt(query, 0), run, term);
    }
  }
  if (query.mutable) rangeInMutable(query, changetype<MutableRun>(query.mutable), atEnd, bitmap);
  return bitmapWords(query);
}

/** @inline */
export function lowerIn(run: usize, ref: TermRef): u32 {
  return lowerTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
}

function rangeInMutable(query: Query, mutable: MutableRun, atEnd: bool, bitmap: usize): void {
  for (let i: u32 = 0; i < mutableTermCount(mutable); i++) {
    const term = mutableTermAt(mutable, i);
    if (!term.chunks || !inRange(query, mutable, term)) continue;
    if (holdsPiece(query, bytesOf(mutable, term), term.length, atEnd)) setMutableTerm(bitmap, query, term);
  }
}

/** Whether a term lies in the range from the first term of the query, inclusive, to the second, exclusive. @inline */
export function inRange(query: Query, mutable: MutableRun, term: MutableTerm): bool {
  return order(mutable, term, refAt(query, 0)) >= 0 && order(mutable, term, refAt(query, 1)) < 0;
}

/** @inline */
function order(mutable: MutableRun, term: MutableTerm, ref: TermRef): i32 {
  return compareBytes(bytesOf(mutable, term), term.length, ref.at, ref.length);
}

function holdsPiece(query: Query, at: usize, length: u32, atEnd: bool): bool {
  const piece = refAt(query, 2);
  const before = refAt(query, 0).length;
  return !piece.length || (length >= before && holds(at + before, length - before, piece, atEnd));
}

/** Writes a bitmap of all chunks. Returns its number of 32-bit words, or FULL. */
export function findLive(scratch: usize, root: usize): i32 {
  const query = openQuery(scratch, root, 0, 0);
  const bitmap = query ? openBitmap(scratch, query) : 0;
  if (!query || !bitmap) return FULL;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = changetype<Run>(runAt(query.list, i));
    let to = bitmap + ((run.first & ~63) >> 3);
    for (let at: usize = run.bits; at < <usize>run.bits + run.bitsUsed; at += 8, to += 8)
      store<u64>(to, load<u64>(to) | load<u64>(at));
  }
  for (let slot: u32 = 0; slot < query.slots; slot++) {
    const ordinal = slotAt(changetype<MutableRun>(query.mutable), slot).ordinal;
    if (ordinal != NONE) setBit(bitmap, ordinal);
  }
  return bitmapWords(query);
}
