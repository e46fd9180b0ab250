// Arithmetic on rows of floats, padded with zeros: what axes are learned with, on the thread of the owner. And the way
// from a row of the index to such a row, on any thread.
import { ROOT_WIDE_BYTES } from '../../layout';
import { scaleOf, setOperand } from '../distance';

/** Bytes of a row of floats of an index. @inline */
export function floatBytes(root: usize): usize {
  return (<usize>load<u32>(root, ROOT_WIDE_BYTES)) << 1;
}

/**
 * Dot product of two rows; `bytes` is a multiple of 64. Four accumulators hide the latency of the additions.
 * @inline
 */
export function dot(a: usize, b: usize, bytes: usize): f32 {
  let s0 = f32x4.splat(0);
  let s1 = f32x4.splat(0);
  let s2 = f32x4.splat(0);
  let s3 = f32x4.splat(0);
  for (const end = a + bytes; a < end; a += 64, b += 64) {
    s0 = f32x4.add(s0, f32x4.mul(v128.load(a), v128.load(b)));
    s1 = f32x4.add(s1, f32x4.mul(v128.load(a, 16), v128.load(b, 16)));
    s2 = f32x4.add(s2, f32x4.mul(v128.load(a, 32), v128.load(b, 32)));
    s3 = f32x4.add(s3, f32x4.mul(v128.load(a, 48), v128.load(b, 48)));
  }
  const sum = f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3));
  return (
    f32x4.extract_lane(sum, 0) + f32x4.extract_lane(sum, 1) + (f32x4.extract_lane(sum, 2) + f32x4.extract_lane(sum, 3))
  );
}

/** Adds `factor` times a row to another. @inline */
export function addScaled(target: usize, factor: f32, source: usize, bytes: usize): void {
  const factors = f32x4.splat(factor);
  for (let at: usize = 0; at < bytes; at += 16)
    v128.store(target + at, f32x4.add(v128.load(target + at), f32x4.mul(factors, v128.load(source + at))));
}

/** Writes a row of the index as floats of unit length; `room` is for an operand, with room for its scale in front. */
export function toFloats(root: usize, ordinal: u32, target: usize, room: usize): void {
  const bytes: usize = load<u32>(root, ROOT_WIDE_BYTES);
  const wide = setOperand(root, ordinal, room);
  const unit = f32x4.splat(scaleOf(wide));
  for (let at: usize = 0; at < bytes; at += 16) {
    const numbers = v128.load(wide + at);
    v128.store(target + (at << 1), f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(numbers)), unit));
    v128.store(target + (at << 1), f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(numbers)), unit), 16);
  }
}
