// Arithmetic on vectors: padded float32 rows of unit length. The same order of additions everywhere, so a row's score is the
// same number whether a scan or a walk through the graph found it.

/** Dot product of two 16-byte aligned rows; `bytes` is a multiple of 64. Four accumulators hide the latency of the additions. */
@inline export function dot(a: usize, b: usize, bytes: usize): f32 {
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
  return f32x4.extract_lane(sum, 0) + f32x4.extract_lane(sum, 1) + (f32x4.extract_lane(sum, 2) + f32x4.extract_lane(sum, 3));
}

/** Cosine of two rows of unit length: rounding may carry the dot product past 1. Never -0, as a sum that starts at +0. */
@inline export function cosine(a: usize, b: usize, bytes: usize): f32 {
  return max<f32>(-1, min<f32>(1, dot(a, b, bytes)));
}

/** Writes `dim` floats from `source`, scaled to unit length and padded with zeros to `rowBytes`, to `target`. A zero vector stays zero. */
export function normalize(source: usize, target: usize, dim: u32, rowBytes: usize): void {
  let squares: f64 = 0;
  const end = source + (<usize>dim << 2);
  for (let at = source; at < end; at += 4) squares += <f64>load<f32>(at) * <f64>load<f32>(at);
  const scale: f64 = squares > 0 ? <f64>1 / sqrt<f64>(squares) : 0;
  for (let at = source; at < end; at += 4) store<f32>(target + (at - source), <f32>(<f64>load<f32>(at) * scale));
  memory.fill(target + (end - source), 0, rowBytes - (end - source));
}
