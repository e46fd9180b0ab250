// Counts, for each term of a range of byte order, the chunks that have it and are in a filter bitmap: facets of metadata
// values. Terms of a range are adjacent in a frozen run; those of the mutable run are all looked at. Any thread.
import { FULL, NONE, NOT_THERE, SCRATCH_ALLOWED, SCRATCH_OUTPUT } from '../../memory/layout';
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
import { atEnd, countOf, nextBlock, openCursor, ordinalAt, unpackOrdinals } from './posting-list';
import { Query, cursorAt, isAllowed, openQuery, refAt } from './query';
import { bytesAt, isLive, termAt, termLength } from './run';
import { inRange, lowerIn } from './term-bitmaps';
import { runAt, runCount } from './text-index';

/** The bytes of an entry beside those of its term: a count, and a zero byte at the end. */
const ENTRY_BYTES: usize = 5;

/**
 * Writes an entry for each term from the first term of the query, inclusive, to the second, exclusive: the number of
 * chunks (u32), the bytes of the term, a zero byte. Only chunks in the filter bitmap of `allowed` ordinals count. A
 * term may have several entries, which add up; those without a chunk are left out. Returns the number of bytes, FULL,
 * or NOT_THERE if there are more than `max` terms.
 */
export function countRange(scratch: usize, root: usize, allowed: u32, max: u32): i32 {
  const query = openQuery(scratch, root, 2, 1);
  if (!query) return FULL;
  query.allowed = <u32>areaAt(scratch, SCRATCH_ALLOWED);
  query.allowedEnd = allowed;
  const bytes = bytesOfEntries(query, max);
  if (bytes == TOO_MANY) return NOT_THERE;
  if (!ensureArea(scratch, SCRATCH_OUTPUT, bytes + 8)) return FULL;
  const from = areaAt(scratch, SCRATCH_OUTPUT);
  let to = from;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = runAt(query.list, i);
    const end = lowerIn(run, refAt(query, 1));
    for (let term = lowerIn(run, refAt(query, 0)); term < end; term++)
      to = write(to, from + bytes, countIn(query, run, term), bytesAt(run, term, query.window), termLength(run, term));
  }
  if (!query.mutable) return <i32>(to - from);
  const mutable = changetype<MutableRun>(query.mutable);
  for (let i: u32 = 0; i < mutableTermCount(mutable); i++) {
    const term = mutableTermAt(mutable, i);
    if (term.chunks && inRange(query, mutable, term))
      to = write(to, from + bytes, countInMutable(query, mutable, term), bytesOf(mutable, term), term.length);
  }
  return <i32>(to - from);
}

const TOO_MANY: usize = -1;

/** The bytes that the entries of all terms of the range take, or TOO_MANY if there are more than `max` terms. */
function bytesOfEntries(query: Query, max: u32): usize {
  let bytes: usize = 0;
  let terms: u32 = 0;
  for (let i: u32 = 0; i < runCount(query.list); i++) {
    const run = runAt(query.list, i);
    const end = lowerIn(run, refAt(query, 1));
    for (let term = lowerIn(run, refAt(query, 0)); term < end; term++, terms++) {
      if (terms == max) return TOO_MANY;
      bytes += termLength(run, term) + ENTRY_BYTES;
    }
  }
  if (!query.mutable) return bytes;
  const mutable = changetype<MutableRun>(query.mutable);
  for (let i: u32 = 0; i < mutableTermCount(mutable); i++) {
    const term = mutableTermAt(mutable, i);
    if (!term.chunks || !inRange(query, mutable, term)) continue;
    if (terms++ == max) return TOO_MANY;
    bytes += term.length + ENTRY_BYTES;
  }
  return bytes;
}

/** Appends an entry, unless its count is 0 or the owner has added its term after the area was reserved. */
function write(to: usize, end: usize, count: u32, bytes: usize, length: u32): usize {
  if (!count || to + length + ENTRY_BYTES > end) return to;
  store<u32>(to, count);
  memory.copy(to + 4, bytes, length);
  store<u8>(to + 4 + length, 0);
  return to + length + ENTRY_BYTES;
}

function countIn(query: Query, run: usize, term: u32): u32 {
  const list = termAt(run, term);
  if (list.count == list.dead) return 0;
  const isWhole = list.dead == 0;
  const cursor = cursorAt(query, 0);
  let count: u32 = 0;
  for (openCursor(cursor, run, term); !atEnd(cursor); nextBlock(cursor)) {
    unpackOrdinals(cursor);
    for (let i: u32 = 0; i < countOf(cursor); i++) {
      const ordinal = ordinalAt(cursor, i);
      count += u32(isAllowed(query, ordinal) && (isWhole || isLive(run, ordinal)));
    }
  }
  return count;
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
