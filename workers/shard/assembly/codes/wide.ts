// Rows of 16-bit numbers: unit vectors times WIDE_SCALE. Their dot product is an exact integer, the same in whatever order it is
// added up. Used for the axes, for queries and for scoring the best of a walk again.
import { WIDE_SCALE } from '../../codes/layout';

/** Writes `count` floats as 16-bit numbers, zeros behind them up to `bytes`. */
export function widen(floats: usize, target: usize, count: u32, bytes: usize): void {
  const even = <usize>(count & ~7);
  const scale = f32x4.splat(<f32>WIDE_SCALE);
  for (let i: usize = 0; i < even; i += 8) {
    const low = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(floats + (i << 2)), scale)));
    const high = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(floats + (i << 2), 16), scale)));
    v128.store(target + (i << 1), i16x8.narrow_i32x4_s(low, high));
  }
  for (let i = even; i < <usize>count; i++) store<i16>(target + (i << 1), <i16>nearest<f32>(load<f32>(floats + (i << 2)) * <f32>WIDE_SCALE));
  memory.fill(target + (<usize>count << 1), 0, bytes - (<usize>count << 1));
}

/** Dot product of two rows of `bytes`, a multiple of 64; WIDE_SCALE squared stands for 1. */
@inline export function wideDot(a: usize, b: usize, bytes: usize): i32 {
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

/** Dot product of an axis, of 8-bit numbers, and a row of `bytes`. */
@inline export function axisDot(axis: usize, row: usize, bytes: usize): i32 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  for (const end = row + bytes; row < end; row += 32, axis += 16) {
    s0 = i32x4.add(s0, i32x4.dot_i16x8_s(v128.load8x8_s(axis), v128.load(row)));
    s1 = i32x4.add(s1, i32x4.dot_i16x8_s(v128.load8x8_s(axis, 8), v128.load(row, 16)));
  }
  return sumOf(i32x4.add(s0, s1));
}

/** The products of four axes, `stride` bytes apart, with one row: it is loaded once for all. */
@inline export function fourAxisDots(axis: usize, stride: usize, row: usize, bytes: usize): v128 {
  const axis2 = axis + stride;
  const axis3 = axis2 + stride;
  const axis4 = axis3 + stride;
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  for (let at: usize = 0; at < bytes >> 1; at += 8) {
    const numbers = v128.load(row + (at << 1));
    s0 = i32x4.add(s0, i32x4.dot_i16x8_s(v128.load8x8_s(axis + at), numbers));
    s1 = i32x4.add(s1, i32x4.dot_i16x8_s(v128.load8x8_s(axis2 + at), numbers));
    s2 = i32x4.add(s2, i32x4.dot_i16x8_s(v128.load8x8_s(axis3 + at), numbers));
    s3 = i32x4.add(s3, i32x4.dot_i16x8_s(v128.load8x8_s(axis4 + at), numbers));
  }
  return i32x4.add(pairSums(s0, s1, s2, s3, true), pairSums(s0, s1, s2, s3, false));
}

/** Of each of four sums, in lanes, two of its lanes added up. */
@inline export function pairSums(s0: v128, s1: v128, s2: v128, s3: v128, low: bool): v128 {
  const a = low ? i32x4.shuffle(s0, s1, 0, 4, 1, 5) : i32x4.shuffle(s0, s1, 2, 6, 3, 7);
  const b = low ? i32x4.shuffle(s2, s3, 0, 4, 1, 5) : i32x4.shuffle(s2, s3, 2, 6, 3, 7);
  return i32x4.add(i64x2.shuffle(a, b, 0, 2), i64x2.shuffle(a, b, 1, 3));
}

@inline export function sumOf(lanes: v128): i32 {
  return i32x4.extract_lane(lanes, 0) + i32x4.extract_lane(lanes, 1) + i32x4.extract_lane(lanes, 2) + i32x4.extract_lane(lanes, 3);
}

/** The cosine that a wide dot product stands for. */
@inline export function wideCosine(product: i32): f32 {
  return max<f32>(-1, min<f32>(1, <f32>(<f64>product / <f64>(WIDE_SCALE * WIDE_SCALE))));
}
