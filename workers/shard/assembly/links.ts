// Neighbour lists: fixed width, ids first, NONE behind the last. Links are symmetric: x in the list of y on a level
// exactly when y in that of x, so that a row can be taken out of the graph without a trace. The owner writes; any
// thread may read: every slot holds NONE or the id of a complete node at all times, and a list that is being rewritten
// is a mix of its old and new neighbours.
import { LINKS_0, LINKS_UP, NONE } from '../layout';
import { listAt } from './rows';

/** @inline */
export function widthOf(level: u32): u32 {
  return level == 0 ? LINKS_0 : LINKS_UP;
}

/** The neighbour in a slot, or NONE. @inline */
export function linkIn(list: usize, slot: u32): u32 {
  return atomic.load<u32>(list + ((<usize>slot) << 2));
}

/** @inline */
export function setLink(list: usize, slot: u32, ordinal: u32): void {
  atomic.store<u32>(list + ((<usize>slot) << 2), ordinal);
}

/** Number of neighbours in a list of `width`. */
export function countLinks(list: usize, width: u32): u32 {
  let count: u32 = 0;
  while (count < width && linkIn(list, count) != NONE) count++;
  return count;
}

function hasLink(list: usize, width: u32, ordinal: u32): bool {
  for (let slot: u32 = 0; slot < width; slot++) if (linkIn(list, slot) == ordinal) return true;
  return false;
}

/** Links two nodes of a level, if there is room in both lists or they are linked already. */
export function join(root: usize, level: u32, a: u32, b: u32): bool {
  const width = widthOf(level);
  const listA = listAt(root, a, level);
  const listB = listAt(root, b, level);
  if (hasLink(listA, width, b)) return true;
  const countA = countLinks(listA, width);
  const countB = countLinks(listB, width);
  if (countA == width || countB == width) return false;
  setLink(listA, countA, b);
  setLink(listB, countB, a);
  return true;
}

export function clearList(list: usize, width: u32): void {
  for (let slot: u32 = 0; slot < width; slot++) setLink(list, slot, NONE);
}

/** Puts `heir` in the slot of `gone`. */
export function replaceLink(list: usize, width: u32, gone: u32, heir: u32): void {
  for (let slot: u32 = 0; slot < width; slot++) if (linkIn(list, slot) == gone) setLink(list, slot, heir);
}

/** Takes `gone` out of the list of `ordinal`, if it is in it: the last neighbour moves into its slot. */
export function unlinkOne(root: usize, ordinal: u32, level: u32, gone: u32): void {
  const list = listAt(root, ordinal, level);
  const count = countLinks(list, widthOf(level));
  for (let slot: u32 = 0; slot < count; slot++) {
    if (linkIn(list, slot) != gone) continue;
    setLink(list, slot, linkIn(list, count - 1));
    setLink(list, count - 1, NONE);
    return;
  }
}
