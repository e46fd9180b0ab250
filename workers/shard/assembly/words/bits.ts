// Numbers of few bits. Vertical: number i stands in lane i mod 4 of a row of 128-bit words, so four are unpacked at
// once and any one can be read alone (Lemire & Boytsov, "Decoding billions of integers per second", 2015). Horizontal:
// one after the other. Pure.

/** Bits that the number takes. @inline */
export function bitsOf(value: u32): u32 {
  return 32 - clz(value);
}

/** Bytes of `count` numbers of `bits`, packed vertically. @inline */
export function packedBytes(count: u32, bits: u32): u32 {
  return ((((count + 3) >> 2) * bits + 31) >> 5) << 4;
}

/** Packs numbers at `from`, a multiple of four of them. */
export function pack(to: usize, from: usize, count: u32, bits: u32): void {
  memory.fill(to, 0, packedBytes(count, bits));
  if (!bits) return;
  for (let i: u32 = 0, bit: u32 = 0; i < count; i += 4, bit += bits) {
    const numbers = v128.load(from + ((<usize>i) << 2));
    const word = to + ((<usize>(bit >> 5)) << 4);
    const shift = bit & 31;
    v128.store(word, v128.or(v128.load(word), i32x4.shl(numbers, shift)));
    if (shift + bits > 32) v128.store(word + 16, i32x4.shr_u(numbers, 32 - shift));
  }
}

/** The four numbers from the `group`-th on. @inline */
export function unpackFour(from: usize, group: u32, bits: u32, mask: v128): v128 {
  const bit = group * bits;
  const word = from + ((<usize>(bit >> 5)) << 4);
  const shift = bit & 31;
  let numbers = i32x4.shr_u(v128.load(word), shift);
  if (shift + bits > 32) numbers = v128.or(numbers, i32x4.shl(v128.load(word + 16), 32 - shift));
  return v128.and(numbers, mask);
}

/** @inline */
export function maskOf(bits: u32): u32 {
  return bits == 32 ? 0xffffffff : (1 << bits) - 1;
}

/** One number of those packed vertically. */
export function unpackOne(from: usize, index: u32, bits: u32): u32 {
  if (!bits) return 0;
  const bit = (index >> 2) * bits;
  const word = from + ((<usize>(bit >> 5)) << 4) + ((<usize>(index & 3)) << 2);
  const shift = bit & 31;
  let number = load<u32>(word) >> shift;
  if (shift + bits > 32) number |= load<u32>(word, 16) << (32 - shift);
  return number & maskOf(bits);
}

/** Bytes of `count` numbers of `bits`, packed horizontally, and room to read eight at the last. @inline */
export function runBytes(count: u32, bits: u32): u32 {
  return ((count * bits + 7) >> 3) + 8;
}

export function packRun(to: usize, from: usize, count: u32, bits: u32): void {
  memory.fill(to, 0, runBytes(count, bits));
  for (let i: u32 = 0, bit: u32 = 0; i < count; i++, bit += bits) {
    const at = to + (bit >> 3);
    store<u64>(at, load<u64>(at) | ((<u64>load<u32>(from + ((<usize>i) << 2))) << (bit & 7)));
  }
}

/** @inline */
export function readRun(from: usize, index: u32, bits: u32): u32 {
  const bit = index * bits;
  return <u32>(load<u64>(from + (bit >> 3)) >> (bit & 7)) & maskOf(bits);
}
