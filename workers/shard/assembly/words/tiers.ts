// Which segments are merged next. Segments of like size make a tier; four of them become one of the next tier, so a
// posting is rewritten once for each fourfold growth, and few segments stand beside each other (O'Neil et al., "The
// log-structured merge-tree", 1996). A segment of which more than half is dead is written anew alone. Pure but for the
// choice it notes.
import { bitsOf } from './bits';
import { inputAt } from './merge-state';
import { Segment } from './segment';
import { segmentAt, segmentCount, Words } from './words';

const TIER_SEGMENTS: u32 = 4;

/**
 * Notes the inputs of the next merge, and answers how many; 0 when all is well. With `all`, every segment is wanted in
 * one.
 */
export function chooseInputs(words: Words, merge: usize, all: bool, max: u32): u32 {
  if (all && segmentCount(words.list) > 1) return choose(words, merge, ANY_TIER, max);
  for (let i: u32 = 0; i < segmentCount(words.list); i++) {
    const segment = changetype<Segment>(segmentAt(words.list, i));
    if (segment.live << 1 >= segment.chunks) continue;
    inputAt(merge, 0).segment = <u32>segmentAt(words.list, i);
    return 1;
  }
  for (let tier: u32 = 0; tier < 32; tier++) {
    if (sizeOf(words, tier) >= TIER_SEGMENTS) return choose(words, merge, tier, max);
  }
  return 0;
}

const ANY_TIER: u32 = 0xffffffff;

/** Bytes of postings and positions, by doublings of doublings. */
function tierOf(segment: usize): u32 {
  const s = changetype<Segment>(segment);
  return bitsOf((s.postingsUsed >> 1) + (s.positionsUsed >> 1)) >> 1;
}

function sizeOf(words: Words, tier: u32): u32 {
  let size: u32 = 0;
  for (let i: u32 = 0; i < segmentCount(words.list); i++) if (tierOf(segmentAt(words.list, i)) == tier) size++;
  return size;
}

function choose(words: Words, merge: usize, tier: u32, max: u32): u32 {
  let chosen: u32 = 0;
  for (let i: u32 = 0; i < segmentCount(words.list) && chosen < max; i++) {
    const segment = segmentAt(words.list, i);
    if (tier == ANY_TIER || tierOf(segment) == tier) inputAt(merge, chosen++).segment = <u32>segment;
  }
  return chosen;
}
