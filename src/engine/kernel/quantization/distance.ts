// What a score is: the cosine of two vectors of whole numbers. Rows have 16-bit ones or, by the precision of the index,
// 8-bit ones; what they are compared with, a query or another row, stands in the scratch as 16-bit ones. Products are
// exact and lengths are those of the whole numbers, so a score is the same number wherever it is asked for, and that of
// a vector with itself is 1. Any thread.
import { NARROW_MAX, ROOT_DIM, ROOT_ROW_BYTES, ROOT_WIDE_BYTES, WIDE_SCALE } from '../layout';
import { isNarrow, rowWordsAt, SCALE, vectorAt } from './rows';
import { narrowDot, wideDot } from './wide';

/** In front of the 16-bit numbers of a query or an operand: one by its length. */
const SCALE_BEFORE: usize = 16;

/** Cosine of `wide`, a query or an operand, and a row. Never -0. */
export function cosine(root: usize, wide: usize, ordinal: u32): f32 {
  const vector = vectorAt(root, ordinal);
  const bytes: usize = load<u32>(root, ROOT_WIDE_BYTES);
  const product = isNarrow(root) ? narrowDot(vector, wide, bytes) : wideDot(vector, wide, bytes);
  const scale = <f64>load<f32>(wide - SCALE_BEFORE) * <f64>load<f32>(rowWordsAt(root, ordinal), SCALE);
  return max<f32>(-1, min<f32>(1, <f32>(<f64>product * scale)));
}

/** One by the length of a query or an operand. @inline */
export function scaleOf(wide: usize): f32 {
  return load<f32>(wide - SCALE_BEFORE);
}

/** Writes a row to `target`, an operand, to be compared with other rows; answers `target`. */
export function setOperand(root: usize, ordinal: u32, target: usize): usize {
  const vector = vectorAt(root, ordinal);
  const bytes: usize = load<u32>(root, ROOT_WIDE_BYTES);
  store<f32>(target - SCALE_BEFORE, load<f32>(rowWordsAt(root, ordinal), SCALE));
  if (isNarrow(root))
    for (let at: usize = 0; at < bytes; at += 16) v128.store(target + at, v128.load8x8_s(vector + (at >> 1)));
  else memory.copy(target, vector, bytes);
  return target;
}

/** Writes `dim` floats as a query: scaled to unit length, times WIDE_SCALE. A zero vector stays zero. */
export function setQuery(floats: usize, root: usize, target: usize): void {
  store<f32>(target - SCALE_BEFORE, widen(floats, target, load<u32>(root, ROOT_DIM), load<u32>(root, ROOT_WIDE_BYTES)));
}

/** Writes a vector of floats into a row that no search sees. */
export function writeRow(floats: usize, root: usize, ordinal: u32): void {
  const dim = load<u32>(root, ROOT_DIM);
  const vector = vectorAt(root, ordinal);
  const bytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  store<f32>(
    rowWordsAt(root, ordinal),
    isNarrow(root) ? narrow(floats, vector, dim, bytes) : widen(floats, vector, dim, bytes),
    SCALE,
  );
}

/**
 * Writes `dim` floats as 16-bit numbers of the length WIDE_SCALE, zeros behind them up to `bytes`, and answers one by
 * their length.
 */
function widen(floats: usize, target: usize, dim: u32, bytes: usize): f32 {
  const squares = squaresOf(floats, dim);
  scaleToWide(floats, target, dim, bytes, squares > 0 ? <f64>WIDE_SCALE / sqrt<f64>(squares) : 0);
  return inverse(<f64>wideDot(target, target, bytes));
}

/** Sum of the squares of `dim` floats. */
function squaresOf(floats: usize, dim: u32): f64 {
  let s0 = f64x2.splat(0);
  let s1 = f64x2.splat(0);
  let i: usize = 0;
  for (; i + 4 <= <usize>dim; i += 4) {
    const x = v128.load(floats + (i << 2));
    const a = f64x2.promote_low_f32x4(x);
    const b = f64x2.promote_low_f32x4(i64x2.shuffle(x, x, 1, 1));
    s0 = f64x2.add(s0, f64x2.mul(a, a));
    s1 = f64x2.add(s1, f64x2.mul(b, b));
  }
  s0 = f64x2.add(s0, s1);
  let squares = f64x2.extract_lane(s0, 0) + f64x2.extract_lane(s0, 1);
  for (; i < <usize>dim; i++) squares += <f64>load<f32>(floats + (i << 2)) * <f64>load<f32>(floats + (i << 2));
  return squares;
}

/** Two floats, the lower ones of four, times `scale`, as whole numbers. @inline */
function twoScaled(x: v128, scale: v128): v128 {
  return i32x4.trunc_sat_f64x2_s_zero(f64x2.nearest(f64x2.mul(f64x2.promote_low_f32x4(x), scale)));
}

/** Four floats, times `scale`, as whole numbers. @inline */
function fourScaled(x: v128, scale: v128): v128 {
  return i64x2.shuffle(twoScaled(x, scale), twoScaled(i64x2.shuffle(x, x, 1, 1), scale), 0, 2);
}

/** Writes `count` floats, times `scale`, as 16-bit numbers, zeros behind them up to `bytes`. */
export function scaleToWide(floats: usize, target: usize, count: u32, bytes: usize, scale: f64): void {
  let i: usize = 0;
  const scales = f64x2.splat(scale);
  for (; i + 8 <= <usize>count; i += 8) {
    const at = floats + (i << 2);
    v128.store(
      target + (i << 1),
      i16x8.narrow_i32x4_s(fourScaled(v128.load(at), scales), fourScaled(v128.load(at, 16), scales)),
    );
  }
  for (; i < <usize>count; i++)
    store<i16>(target + (i << 1), <i16>nearest<f64>(<f64>load<f32>(floats + (i << 2)) * scale));
  memory.fill(target + ((<usize>count) << 1), 0, bytes - ((<usize>count) << 1));
}

/**
 * Writes `dim` floats as 8-bit numbers, the largest 127, zeros behind them up to `bytes`, and answers one by their
 * length.
 */
function narrow(floats: usize, target: usize, dim: u32, bytes: usize): f32 {
  let most: f64 = 0;
  for (let i: usize = 0; i < <usize>dim; i++) most = max<f64>(most, abs<f64>(<f64>load<f32>(floats + (i << 2))));
  const scale = most > 0 ? <f64>NARROW_MAX / most : 0;
  let squares: f64 = 0;
  for (let i: usize = 0; i < <usize>dim; i++) {
    const number = nearest<f64>(<f64>load<f32>(floats + (i << 2)) * scale);
    store<i8>(target + i, <i8>number);
    squares += number * number;
  }
  memory.fill(target + <usize>dim, 0, bytes - <usize>dim);
  return inverse(squares);
}

/** @inline */
function inverse(squares: f64): f32 {
  return squares > 0 ? <f32>(<f64>1 / sqrt<f64>(squares)) : 0;
}
