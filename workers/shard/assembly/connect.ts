// Makes links between two nodes of a level. A full list is chosen anew, and who is dropped from it drops it too, so links
// stay symmetric. Owner's thread only.
import { CANDIDATES, CHOSEN, NONE } from '../layout';
import { cosine, setOperand } from './distance';
import { keyOf, ordinalOf } from './keys';
import { countLinks, join, linkIn, setLink, unlinkOne, widthOf } from './links';
import { operandIn } from './query';
import { listAt } from './rows';
import { choose, sortKeys } from './select';

/** Adds `added` to the list of `ordinal`. Requires that the list of `added` has `ordinal` already; it loses it if this list is full of better ones. */
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
    store<u64>(keys + (<usize>i << 3), keyOf(cosine(root, vector, other), other));
  }
  sortKeys(keys, width + 1);
  const chosen = choose(scratch, root, keys, width + 1, width);
  for (let i: u32 = 0; i < width; i++) setLink(list, i, i < chosen ? chosenAt(scratch, i) : NONE);
  dropRest(scratch, root, ordinal, level, width + 1, chosen);
}

/** Both arrays are in the same order, so one pass finds what was not chosen. */
function dropRest(scratch: usize, root: usize, ordinal: u32, level: u32, count: u32, chosen: u32): void {
  let next: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const candidate = ordinalOf(load<u64>(scratch + (<usize>i << 3), CANDIDATES));
    if (next < chosen && candidate == chosenAt(scratch, next)) {
      next++;
      continue;
    }
    unlinkOne(root, candidate, level, ordinal);
    if (linkIn(listAt(root, candidate, level), 0) == NONE) rehang(scratch, root, candidate, level, chosen);
  }
}

/** Links a node that has lost its last link, one in some thousands, to a chosen one with room: else nothing would lead to it. */
function rehang(scratch: usize, root: usize, ordinal: u32, level: u32, chosen: u32): void {
  for (let i: u32 = 0; i < chosen; i++) if (join(root, level, ordinal, chosenAt(scratch, i))) return;
}

@inline function chosenAt(scratch: usize, place: u32): u32 {
  return ordinalOf(load<u64>(scratch + (<usize>place << 3), CHOSEN));
}
