// Terms as bytes (UTF-8 without a zero byte): their keys, order and hash. The key of a term is its first eight bytes as
// one number, the first byte highest, so that most comparisons are of two numbers; the tail is what comes behind. Pure.

/**
 * The order of terms is that of their bytes. Terms of up to eight bytes have no tail: a key alone tells them apart.
 * @inline
 */
export function keyOf(at: usize, length: u32): u64 {
  if (length >= 8) return bswap<u64>(load<u64>(at));
  // Reads past the term stay inside the memory: its last line belongs to the arena's fence.
  return length ? bswap<u64>(load<u64>(at) & (<u64>-1 >> (64 - ((<u64>length) << 3)))) : 0;
}

/** @inline */
export function tailLength(length: u32): u32 {
  return length > 8 ? length - 8 : 0;
}

/** Below 0, 0 or above: the order of two runs of bytes. */
export function compareBytes(a: usize, aLength: u32, b: usize, bLength: u32): i32 {
  const common = min(aLength, bLength);
  for (let i: u32 = 0; i < common; i++) {
    const difference = <i32>load<u8>(a + i) - <i32>load<u8>(b + i);
    if (difference) return difference;
  }
  return <i32>aLength - <i32>bLength;
}

export function equalBytes(a: usize, b: usize, length: u32): bool {
  let i: u32 = 0;
  for (; i + 8 <= length; i += 8) if (load<u64>(a + i) != load<u64>(b + i)) return false;
  for (; i < length; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

/** FNV-1a with a last mix, never 0. */
export function hashOf(at: usize, length: u32): u32 {
  let hash: u32 = 0x811c9dc5;
  for (let i: u32 = 0; i < length; i++) hash = (hash ^ load<u8>(at + i)) * 0x01000193;
  hash ^= hash >> 15;
  return hash ? hash : 1;
}

/** Bytes up to the next zero byte. @inline */
export function lengthTo0(at: usize): u32 {
  let end = at;
  while (load<u8>(end)) end++;
  return <u32>(end - at);
}
