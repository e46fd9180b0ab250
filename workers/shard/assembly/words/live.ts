// Which chunks of a segment are live: a bit for each ordinal from the segment's first on, rounded down to 64. A chunk
// is live in one segment, or in the head, or nowhere. Set and cleared by the owner, read by any thread.
import { Segment } from './segment';

export function setLive(segment: usize, ordinal: u32): void {
  const s = changetype<Segment>(segment);
  const bit = ordinal - (s.first & ~63);
  const byte = <usize>s.bits + (bit >> 3);
  store<u8>(byte, load<u8>(byte) | <u8>((<u32>1) << (bit & 7)));
  s.live++;
  s.chunks++;
}

/** @inline */
export function isLive(segment: usize, ordinal: u32): bool {
  const s = changetype<Segment>(segment);
  if (ordinal < s.first || ordinal >= s.end) return false;
  const bit = ordinal - (s.first & ~63);
  return ((load<u8>(<usize>s.bits + (bit >> 3)) >> (bit & 7)) & 1) != 0;
}

/** Takes over the live chunks of another segment, which this one's ordinals include; no chunk is live in both. */
export function joinLive(segment: usize, other: usize): void {
  const to = changetype<Segment>(segment);
  const from = changetype<Segment>(other);
  let word = <usize>to.bits + (((from.first & ~63) - (to.first & ~63)) >> 3);
  for (let at: usize = from.bits; at < <usize>from.bits + from.bitsUsed; at += 8, word += 8)
    store<u64>(word, load<u64>(word) | load<u64>(at));
  to.live += from.live;
}

export function clearLive(segment: usize, ordinal: u32): void {
  const s = changetype<Segment>(segment);
  const bit = ordinal - (s.first & ~63);
  const byte = <usize>s.bits + (bit >> 3);
  store<u8>(byte, load<u8>(byte) & ~(<u8>((<u32>1) << (bit & 7))));
  s.live--;
}
