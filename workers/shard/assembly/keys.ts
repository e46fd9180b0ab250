// Candidates as single u64 words whose order is the order of answers: higher score first, then lower ordinal.
// Bits: score made sortable 32 | complement of the ordinal 30 | 0.
const ORDINAL_MASK: u32 = 0x3fffffff;

/** Flipping the sign bit, or all bits of a negative number, makes IEEE order the order of integers. @inline */
export function keyOf(score: f32, ordinal: u32): u64 {
  const bits = reinterpret<u32>(score);
  const sortable = bits ^ (<u32>(<i32>bits >> 31) | 0x80000000);
  return ((<u64>sortable) << 32) | <u64>((~ordinal & ORDINAL_MASK) << 2);
}

/** @inline */
export function ordinalOf(key: u64): u32 {
  return ~(<u32>key >> 2) & ORDINAL_MASK;
}

/** @inline */
export function scoreOf(key: u64): f32 {
  const sortable = <u32>(key >> 32);
  const bits = sortable ^ (<u32>(<i32>~sortable >> 31) | 0x80000000);
  return reinterpret<f32>(bits);
}
