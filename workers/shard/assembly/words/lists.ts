// The list of an index's head and segments, exchanged as a whole: a reader has the old one or the new one, and in
// either each chunk stands once. Also the making of a segment and its last steps. The owner's thread only.
import { allocate } from '../arena';
import { retire } from '../epochs';
import { reserve, trimArea } from './area';
import { createHead, retireHead } from './head';
import { areaOf, retireSegment, Segment } from './segment';
import { headIn, LIST_HEAD, segmentAt, segmentCount, Words } from './words';

/** An empty segment for ordinals from `first` to before `end`, with none of them live; 0 when memory is full. */
export function createSegment(first: u32, end: u32): usize {
  const address = allocate(offsetof<Segment>());
  if (!address) return 0;
  memory.fill(address, 0, offsetof<Segment>());
  const segment = changetype<Segment>(address);
  segment.first = first;
  segment.end = end;
  const bits = areaOf(address, 6);
  const bytes = ((<usize>(end - (first & ~63)) + 63) >> 6) << 3;
  if (!reserve(bits, bytes)) {
    retireSegment(address);
    return 0;
  }
  memory.fill(bits.at, 0, bytes);
  bits.used = <u32>bytes;
  return address;
}

/** An empty head for the next chunk. False, and nothing changed, when memory is full. */
export function publishHead(words: Words): bool {
  const head = createHead();
  if (!head) return false;
  if (exchangeList(words, head, 0)) return true;
  retireHead(head);
  return false;
}

/**
 * Publishes the list with `head` (0 for none), and with `added` (0 for none) in the place of the segments marked as
 * gone. False, and nothing changed, when memory is full.
 */
export function exchangeList(words: Words, head: usize, added: usize): bool {
  const old = <usize>words.list;
  const list = allocate(LIST_HEAD + ((<usize>segmentCount(old) + 1) << 2));
  if (!list) return false;
  let to = list + LIST_HEAD;
  let waiting = added;
  for (let i: u32 = 0; i < segmentCount(old); i++) {
    const segment = segmentAt(old, i);
    if (isGone(segment)) continue;
    if (waiting && changetype<Segment>(segment).first > changetype<Segment>(waiting).first) {
      to = put(to, waiting);
      waiting = 0;
    }
    to = put(to, segment);
  }
  if (waiting) to = put(to, waiting);
  store<u32>(list, <u32>head);
  store<u32>(list, <u32>((to - list - LIST_HEAD) >> 2), 4);
  atomic.store<u32>(changetype<usize>(words) + offsetof<Words>('list'), <u32>list);
  if (headIn(old) && headIn(old) != head) retireHead(headIn(old));
  retireList(old);
  return true;
}

/** @inline */
function put(to: usize, segment: usize): usize {
  store<u32>(to, <u32>segment);
  return to + 4;
}

/** @inline */
function isGone(segment: usize): bool {
  return changetype<Segment>(segment).isGone != 0;
}

/** The old list, with the segments that are in no list any more. */
function retireList(list: usize): void {
  for (let i: u32 = 0; i < segmentCount(list); i++) if (isGone(segmentAt(list, i))) retireSegment(segmentAt(list, i));
  retire(list);
}

/** Gives back what a segment that is complete does not need, before any other thread has seen it. */
export function trimSegment(segment: usize): void {
  for (let i: usize = 0; i < 6; i++) trimArea(areaOf(segment, i));
}
