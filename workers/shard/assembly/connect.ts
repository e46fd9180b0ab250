// Makes links between two nodes of a level. A full list is chosen anew, and who is dropped from it drops it too, so
// links stay symmetric. Owner's thread only.
import { CANDIDATES, CHOSEN, NONE } from '../layout';
import { cosine, setOperand } from './distance';
import { keyOf, ordinalOf } from './keys';
import { countLinks, join, linkIn, setLink, unlinkOne, widthOf } from './links';
import { operandIn } from './query';
import { listAt } from './rows';
import { choose, sortKeys } from './select';

/**
 * Adds `added` to the list of `ordinal`. Requires that the list of `added` has `ordinal` already; it loses it if this
 * list is full of better ones.
 */
export function addLink(scratch: usize, root: usize, ordinal: u32, level: u32, added: u32): void {
  const list = listAt(root, ordinal, level);
  const width = widthOf(level);
  const count = countLinks(list, width);
  if (count < width) setLink(list, count, added);
  else chooseAnew(scratch, root, ordinal, level, added);
}

function chooseAnew(scratch: usize, root: usize, ordinal: u32, level: u32, added: u32): void {
  const list = listAt(root, ordinal, level);
  const width = widthOf(level);
  const vector = setOperand(root, ordinal, operandIn(scratch, root));
  const keys = scratch + CANDIDATES;
  for (let i: u32 = 0; i <= width; i++) {
    const other = i < width ? linkIn(list, i) : added;
    store<u64>(keys + ((<usize>i) << 3), keyOf(cosine(root, vector, other), other));
  }
  sortKeys(keys, width + 1);
  const chosen = choose(scratch, root, keys, width + 1, width);
  const dropped = keepLinks(scratch, list, width, chosen);
  for (let i: u32 = 0; i < dropped; i++) {
    const candidate = ordinalOf(load<u64>(keys + ((<usize>i) << 3)));
    unlinkOne(root, candidate, level, ordinal);
    if (linkIn(listAt(root, candidate, level), 0) == NONE) rehang(scratch, root, candidate, level, chosen);
  }
}

/**
 * Writes a list of those chosen and of the nearest of the others, until it is full but for a quarter: full ones find
 * more (fill.ts), and room for a quarter delays the next choice. Puts those that are dropped first among the candidates
 * and answers how many. Both arrays are in the same order, so one pass will do.
 */
function keepLinks(scratch: usize, list: usize, width: u32, chosen: u32): u32 {
  const keys = scratch + CANDIDATES;
  const most = width - (width >> 2);
  let others = max(most, chosen) - chosen;
  let kept: u32 = 0,
    next: u32 = 0;
  for (let i: u32 = 0; i <= width; i++) {
    const key = load<u64>(keys + ((<usize>i) << 3));
    const isChosen = next < chosen && ordinalOf(key) == chosenAt(scratch, next);
    if (isChosen) next++;
    else if (others > 0) others--;
    else {
      store<u64>(keys + ((<usize>(i - kept)) << 3), key);
      continue;
    }
    setLink(list, kept++, ordinalOf(key));
  }
  for (let slot = kept; slot < width; slot++) setLink(list, slot, NONE);
  return width + 1 - kept;
}

/**
 * Links a node that has lost its last link, one in some thousands, to a chosen one with room: else nothing would lead
 * to it.
 */
function rehang(scratch: usize, root: usize, ordinal: u32, level: u32, chosen: u32): void {
  for (let i: u32 = 0; i < chosen; i++) if (join(root, level, ordinal, chosenAt(scratch, i))) return;
}

/** @inline */
function chosenAt(scratch: usize, place: u32): u32 {
  return ordinalOf(load<u64>(scratch + ((<usize>place) << 3), CHOSEN));
}
