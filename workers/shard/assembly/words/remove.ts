// Takes a chunk out: its bit is cleared, and its terms' counts of dead postings go up, so frequencies stay exact; the
// postings go with the next merge. The owner's thread only; nothing here wants memory but the question's own room.
import { FULL, NONE } from '../../layout';
import { removeFromHead } from './add';
import { findSlot, Head } from './head';
import { clearLive, isLive } from './live';
import { inputAt, Merge, writerOf } from './merge-state';
import { openQuery, Query, refAt, tailLengthOf, tailOf, TermRef } from './query';
import { findTerm, termAt, termCount } from './segment';
import { lengthOf, segmentAt, segmentCount, setLength, Words } from './words';

/**
 * Removes a chunk, given its distinct terms. Answers how many of them it had, -2 where it is not there, or FULL with
 * nothing changed.
 */
export function removeWords(scratch: usize, root: usize, ordinal: u32, terms: u32): i32 {
  const words = changetype<Words>(root);
  const query = openQuery(scratch, root, terms, 0);
  if (!query) return FULL;
  const segment = segmentWith(words.list, ordinal);
  let found = terms;
  if (segment) {
    found = countDead(query, words, segment, ordinal);
    clearLive(segment, ordinal);
  } else {
    const head = changetype<Head>(query.head);
    const slot = query.head ? findSlot(head, query.slots, ordinal) : NONE;
    if (slot == NONE) return NOT_THERE;
    removeFromHead(head, slot);
  }
  words.tokens -= lengthOf(words, ordinal);
  setLength(words, ordinal, 0);
  atomic.store<u32>(root + offsetof<Words>('chunks'), words.chunks - 1);
  return found;
}

const NOT_THERE: i32 = -2;

/** The segment in which the chunk is live, or 0: at most one. */
export function segmentWith(list: usize, ordinal: u32): usize {
  for (let i: u32 = 0; i < segmentCount(list); i++) if (isLive(segmentAt(list, i), ordinal)) return segmentAt(list, i);
  return 0;
}

function countDead(query: Query, words: Words, segment: usize, ordinal: u32): u32 {
  const merge = words.merge && isInput(words.merge, segment) ? words.merge : 0;
  let found: u32 = 0;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    const term = findTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term < 0) continue;
    termAt(segment, term).dead++;
    if (merge) countDeadInMerge(merge, ref, ordinal);
    found++;
  }
  return found;
}

function isInput(merge: usize, segment: usize): bool {
  for (let i: u32 = 0; i < changetype<Merge>(merge).inputs; i++)
    if (<usize>inputAt(merge, i).segment == segment) return true;
  return false;
}

/**
 * The segment being written has the posting only if the merge has passed it; one that it has not reached is left out.
 */
function countDeadInMerge(merge: usize, ref: TermRef, ordinal: u32): void {
  const state = changetype<Merge>(merge);
  const segment = <usize>writerOf(merge).segment;
  const term = findTerm(segment, ref.key, tailOf(ref), tailLengthOf(ref));
  if (term < 0) return;
  const isCurrent = state.active > 0 && <u32>term == termCount(segment) - 1;
  if (!isCurrent || ordinal < state.frontier) termAt(segment, term).dead++;
}
