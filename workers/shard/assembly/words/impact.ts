// What bounds the weights of many postings at any mean length: it stands with every block and every term, and is joined
// as they are written. Pure.

/**
 * Lengths of the postings with a count of at least 1, 2 and 3, the least of each, and the greatest count: a bound at
 * any mean length.
 */
export type Impact = u64;
export const NO_IMPACT: Impact = 0x0000_ffff_ffff_ffff;
/** Lengths and counts of this and more. */
export const SATURATED: u32 = 0xffff;

export function impactOf(count: u32, length: u32): Impact {
  const least: u64 = min(length, SATURATED);
  const none: u64 = SATURATED;
  const greatest: u64 = min(count, SATURATED);
  return least | ((count >= 2 ? least : none) << 16) | ((count >= 3 ? least : none) << 32) | (greatest << 48);
}

export function joinImpacts(a: Impact, b: Impact): Impact {
  const lengths = i16x8.min_u(i64x2(<i64>a, 0), i64x2(<i64>b, 0));
  const greatest = max(a >> 48, b >> 48);
  return (<u64>i64x2.extract_lane(lengths, 0) & 0x0000_ffff_ffff_ffff) | (greatest << 48);
}
