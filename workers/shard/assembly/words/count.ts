// Counts: in how many live chunks each term of a question occurs, exactly, and how many of the terms each of some given
// chunks has. Any thread.
import { FULL, NONE, SCRATCH_OUTPUT } from '../../layout';
import { areaAt, ensureArea } from '../scratch';
import { atEnd, Cursor, openCursor, ordinalAt } from './cursor';
import { findSlot, Head, headTermAt, slotAt } from './head';
import { cursorAt, openQuery, Query, refAt, tailLengthOf, tailOf } from './query';
import { countInSlot, findInHead } from './rank-head';
import { segmentWith } from './remove';
import { findTerm, termAt } from './segment';
import { seek } from './unpack';
import { segmentAt, segmentCount } from './words';

/** Writes the frequency of each term to the output. Answers how many, or FULL. */
export function countWords(scratch: usize, root: usize, terms: u32): i32 {
  const query = openQuery(scratch, root, terms, 0);
  if (!query || !ensureArea(scratch, SCRATCH_OUTPUT, (<usize>terms) << 2)) return FULL;
  for (let i: u32 = 0; i < terms; i++)
    store<u32>(areaAt(scratch, SCRATCH_OUTPUT) + ((<usize>i) << 2), frequencyOf(query, i));
  return terms;
}

function frequencyOf(query: Query, i: u32): u32 {
  const ref = refAt(query, i);
  let frequency: u32 = 0;
  if (query.head) {
    const head = changetype<Head>(query.head);
    const number = findInHead(head, ref);
    if (number != NONE) frequency += headTermAt(head, number).chunks;
  }
  for (let j: u32 = 0; j < segmentCount(query.list); j++) {
    const segment = segmentAt(query.list, j);
    const term = findTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term >= 0) frequency += termAt(segment, term).count - termAt(segment, term).dead;
  }
  return frequency;
}

/**
 * Puts in the place of each of `chunks` ordinals, in the area of bitmaps, how many of the terms it has. FULL when
 * memory is full.
 */
export function matchWords(scratch: usize, root: usize, terms: u32, ordinals: usize, chunks: u32): i32 {
  const query = openQuery(scratch, root, terms, 1);
  if (!query) return FULL;
  if (query.head)
    for (let i: u32 = 0; i < terms; i++)
      refAt(query, i).head = findInHead(changetype<Head>(query.head), refAt(query, i));
  for (let i: u32 = 0; i < chunks; i++) {
    const at = ordinals + ((<usize>i) << 2);
    store<u32>(at, matchedIn(query, load<u32>(at)));
  }
  return chunks;
}

function matchedIn(query: Query, ordinal: u32): u32 {
  const segment = segmentWith(query.list, ordinal);
  const head = changetype<Head>(query.head);
  const slot = !segment && query.head ? findSlot(head, query.slots, ordinal) : NONE;
  let matched: u32 = 0;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    if (segment) {
      const term = findTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
      if (term >= 0 && hasOrdinal(cursorAt(query, 0), segment, term, ordinal)) matched++;
    } else if (slot != NONE && ref.head != NONE && countInSlot(head, slotAt(head, slot), ref.head)) matched++;
  }
  return matched;
}

function hasOrdinal(cursor: Cursor, segment: usize, term: u32, ordinal: u32): bool {
  openCursor(cursor, segment, term);
  seek(cursor, ordinal);
  return !atEnd(cursor) && ordinalAt(cursor, cursor.i) == ordinal;
}
