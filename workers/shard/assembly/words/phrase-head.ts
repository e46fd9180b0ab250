// Phrases in the head: its tokens stand in their order, so at every place of the rarest one its neighbours are looked
// at. Called by phrase.ts. Any thread.
import { NONE } from '../../layout';
import { setBit } from './bitmap';
import { entryAt, Head, headTermAt, headTermCount, newestOf, Slot, slotAt } from './head';
import { headStartsWith, setHeadTerm } from './prefix';
import { Query, refAt } from './query';
import { findInHead } from './rank-head';

/**
 * Sets the bits of the head's chunks that have the phrase: `whole` terms, and the beginning of one where the question
 * has one more.
 */
export function phraseInHead(query: Query, head: Head, whole: u32, bitmap: usize): void {
  if (!whole) return prefixInHead(query, head, bitmap);
  let rarest: u32 = 0;
  let fewest: u32 = NONE;
  for (let i: u32 = 0; i < whole; i++) {
    const ref = refAt(query, i);
    ref.head = findInHead(head, ref);
    if (ref.head == NONE) return;
    if (headTermAt(head, ref.head).tokens >= fewest) continue;
    fewest = headTermAt(head, ref.head).tokens;
    rarest = i;
  }
  for (
    let token = newestOf(headTermAt(head, refAt(query, rarest).head));
    token;
    token = entryAt(head, token - 1).before
  ) {
    const number = entryAt(head, token - 1).slot;
    if (number >= query.slots) continue;
    const slot = slotAt(head, number);
    const ordinal = slot.ordinal;
    if (ordinal != NONE && token - 1 >= slot.first + rarest && standsAt(query, head, whole, token - 1 - rarest, slot))
      setBit(bitmap, ordinal);
  }
}

function prefixInHead(query: Query, head: Head, bitmap: usize): void {
  for (let i: u32 = 0; i < headTermCount(head); i++) {
    if (headStartsWith(head, headTermAt(head, i), refAt(query, 0))) setHeadTerm(bitmap, query, headTermAt(head, i));
  }
}

/** Whether the phrase stands at a token of the chunk. */
function standsAt(query: Query, head: Head, whole: u32, token: u32, slot: Slot): bool {
  if (token + query.terms > slot.first + slot.length) return false;
  for (let i: u32 = 0; i < whole; i++) if (entryAt(head, token + i).term != refAt(query, i).head) return false;
  if (whole == query.terms) return true;
  return headStartsWith(head, headTermAt(head, entryAt(head, token + whole).term), refAt(query, whole));
}
