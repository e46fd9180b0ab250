// Dot products of rows of 16-bit and of 8-bit numbers: exact integers, the same in whatever order they are added up.
// Used for scores (distance.ts) and for the axes of codes (codes/). Any thread.

/** Dot product of two rows of 16-bit numbers of `bytes`, a multiple of 64; WIDE_SCALE squared stands for 1. @inline */
export function wideDot(a: usize, b: usize, bytes: usize): i32 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  for (const end = a + bytes; a < end; a += 64, b += 64) {
    s0 = i32x4.add(s0, i32x4.dot_i16x8_s(v128.load(a), v128.load(b)));
    s1 = i32x4.add(s1, i32x4.dot_i16x8_s(v128.load(a, 16), v128.load(b, 16)));
    s2 = i32x4.add(s2, i32x4.dot_i16x8_s(v128.load(a, 32), v128.load(b, 32)));
    s3 = i32x4.add(s3, i32x4.dot_i16x8_s(v128.load(a, 48), v128.load(b, 48)));
  }
  return sumOf(i32x4.add(i32x4.add(s0, s1), i32x4.add(s2, s3)));
}

/** Dot product of a row of 8-bit numbers and one of 16-bit numbers of `bytes`, a multiple of 64. @inline */
export function narrowDot(narrow: usize, wide: usize, bytes: usize): i32 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  for (const end = wide + bytes; wide < end; wide += 32, narrow += 16) {
    s0 = i32x4.add(s0, i32x4.dot_i16x8_s(v128.load8x8_s(narrow), v128.load(wide)));
    s1 = i32x4.add(s1, i32x4.dot_i16x8_s(v128.load8x8_s(narrow, 8), v128.load(wide, 16)));
  }
  return sumOf(i32x4.add(s0, s1));
}

/**
 * The products of four axes, one behind another, with one row, all of 16-bit numbers and of `bytes`, a multiple of 32:
 * it is loaded once for all.
 * @inline
 */
export function fourAxisDots(axis: usize, row: usize, bytes: usize): v128 {
  let axis2 = axis + bytes;
  let axis3 = axis2 + bytes;
  let axis4 = axis3 + bytes;
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  for (const end = row + bytes; row < end; row += 32, axis += 32, axis2 += 32, axis3 += 32, axis4 += 32) {
    const numbers = v128.load(row);
    const more = v128.load(row, 16);
    s0 = i32x4.add(
      s0,
      i32x4.add(i32x4.dot_i16x8_s(v128.load(axis), numbers), i32x4.dot_i16x8_s(v128.load(axis, 16), more)),
    );
    s1 = i32x4.add(
      s1,
      i32x4.add(i32x4.dot_i16x8_s(v128.load(axis2), numbers), i32x4.dot_i16x8_s(v128.load(axis2, 16), more)),
    );
    s2 = i32x4.add(
      s2,
      i32x4.add(i32x4.dot_i16x8_s(v128.load(axis3), numbers), i32x4.dot_i16x8_s(v128.load(axis3, 16), more)),
    );
    s3 = i32x4.add(
      s3,
      i32x4.add(i32x4.dot_i16x8_s(v128.load(axis4), numbers), i32x4.dot_i16x8_s(v128.load(axis4, 16), more)),
    );
  }
  return i32x4.add(pairSums(s0, s1, s2, s3, true), pairSums(s0, s1, s2, s3, false));
}

/** Of each of four sums, in lanes, two of its lanes added up. @inline */
export function pairSums(s0: v128, s1: v128, s2: v128, s3: v128, low: bool): v128 {
  const a = low ? i32x4.shuffle(s0, s1, 0, 4, 1, 5) : i32x4.shuffle(s0, s1, 2, 6, 3, 7);
  const b = low ? i32x4.shuffle(s2, s3, 0, 4, 1, 5) : i32x4.shuffle(s2, s3, 2, 6, 3, 7);
  return i32x4.add(i64x2.shuffle(a, b, 0, 2), i64x2.shuffle(a, b, 1, 3));
}

/** @inline */
function sumOf(lanes: v128): i32 {
  return (
    i32x4.extract_lane(lanes, 0) +
    i32x4.extract_lane(lanes, 1) +
    i32x4.extract_lane(lanes, 2) +
    i32x4.extract_lane(lanes, 3)
  );
}
