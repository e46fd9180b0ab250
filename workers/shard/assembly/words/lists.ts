// The list of an index's segments, exchanged as a whole: a reader has the old one or the new one. Also the making of a segment
// and its last steps. The owner's thread only.
import { allocate, release } from '../arena';
import { reserve, trimArea } from './area';
import { areaOf, releaseSegment, Segment } from './segment';
import { segmentAt, segmentCount, Words } from './words';

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
    releaseSegment(address);
    return 0;
  }
  memory.fill(bits.at, 0, bytes);
  bits.used = <u32>bytes;
  return address;
}

/** Puts `added` (0 for none) into the list for the segments marked as gone. False, and nothing changed, when memory is full. */
export function exchangeSegments(words: Words, added: usize): bool {
  const count = segmentCount(words);
  const list = allocate((<usize>count + 2) << 2);
  if (!list) return false;
  let size: u32 = 0;
  let waiting = added;
  for (let i: u32 = 0; i < count; i++) {
    const segment = segmentAt(words, i);
    if (isGone(segment)) continue;
    if (waiting && changetype<Segment>(segment).first > changetype<Segment>(waiting).first) {
      store<u32>(list + (<usize>++size << 2), <u32>waiting);
      waiting = 0;
    }
    store<u32>(list + (<usize>++size << 2), <u32>segment);
  }
  if (waiting) store<u32>(list + (<usize>++size << 2), <u32>waiting);
  store<u32>(list, size);
  const old = <usize>words.list;
  atomic.store<u32>(changetype<usize>(words) + offsetof<Words>('list'), <u32>list);
  releaseList(old);
  return true;
}

@inline function isGone(segment: usize): bool {
  return changetype<Segment>(segment).isGone != 0;
}

/** The old list, with the segments that are in no list any more. */
function releaseList(list: usize): void {
  if (!list) return;
  const count = load<u32>(list);
  for (let i: u32 = 1; i <= count; i++) {
    const segment: usize = load<u32>(list + (<usize>i << 2));
    if (isGone(segment)) releaseSegment(segment);
  }
  release(list);
}

/** Gives back what a segment that is complete does not need. */
export function trimSegment(segment: usize): void {
  for (let i: usize = 0; i < 6; i++) trimArea(areaOf(segment, i));
}
