// Exact scores: the cosine of two vectors of integers. Rows have 16-bit or 8-bit numbers, by the precision of the
// index; the query or row that they are compared with is in the scratch as 16-bit numbers. Products are exact and
// lengths are those of the integers, so the score of a pair is the same everywhere, and a vector has the cosine 1 with
// itself. Any thread.
import {
  LINE_BYTES,
  ROOT_DIM,
  ROOT_ROW_BYTES,
  ROOT_WIDE_BYTES,
  ROW_SCALE,
  SCRATCH_INPUT,
  SCRATCH_QUERY,
  WIDE_SCALE,
} from '../../memory/layout';
import { isNarrow, rowWordsAt, vectorAt } from '../memory/row-blocks';
import { areaAt, ensureArea } from '../memory/scratch';

// Dot products of integers are exact, and so do not depend on the order of the additions.

/**
 * Dot product of two rows of 16-bit numbers; `bytes` is a multiple of 64. `WIDE_SCALE` squared stands for 1. @inline
 */
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

/**
 * Dot product of a row of 8-bit numbers with one of 16-bit numbers; `bytes` is the size of the latter, a multiple of
 * 64. @inline
 */
function narrowDot(narrow: usize, wide: usize, bytes: usize): i32 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  for (const end = wide + bytes; wide < end; wide += 32, narrow += 16) {
    s0 = i32x4.add(s0, i32x4.dot_i16x8_s(v128.load8x8_s(narrow), v128.load(wide)));
    s1 = i32x4.add(s1, i32x4.dot_i16x8_s(v128.load8x8_s(narrow, 8), v128.load(wide, 16)));
  }
  return sumOf(i32x4.add(s0, s1));
}

/**
 * Dot products of four contiguous vectors with one row, which is loaded once. All are of 16-bit numbers, `bytes` long,
 * a multiple of 32.
 * @inline
 */
export function fourComponentDots(component: usize, row: usize, bytes: usize): v128 {
  let component2 = component + bytes;
  let component3 = component2 + bytes;
  let component4 = component3 + bytes;
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  for (
    const end = row + bytes;
    row < end;
    row += 32, component += 32, component2 += 32, component3 += 32, component4 += 32
  ) {
    const numbers = v128.load(row);
    const more = v128.load(row, 16);
    s0 = i32x4.add(
      s0,
      i32x4.add(i32x4.dot_i16x8_s(v128.load(component), numbers), i32x4.dot_i16x8_s(v128.load(component, 16), more)),
    );
    s1 = i32x4.add(
      s1,
      i32x4.add(i32x4.dot_i16x8_s(v128.load(component2), numbers), i32x4.dot_i16x8_s(v128.load(component2, 16), more)),
    );
    s2 = i32x4.add(
      s2,
      i32x4.add(i32x4.dot_i16x8_s(v128.load(component3), numbers), i32x4.dot_i16x8_s(v128.load(component3, 16), more)),
    );
    s3 = i32x4.add(
      s3,
      i32x4.add(i32x4.dot_i16x8_s(v128.load(component4), numbers), i32x4.dot_i16x8_s(v128.load(component4, 16), more)),
    );
  }
  return i32x4.add(pairSums(s0, s1, s2, s3, true), pairSums(s0, s1, s2, s3, false));
}

/**
 * Adds two of the four lanes of each sum, the low or the high ones. The two results together give the four totals in
 * lanes. @inline
 */
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

/** The reciprocal of the length of a query or an operand stands this many bytes in front of its numbers. */
const SCALE_BEFORE: usize = 16;

/** Cosine of a row with `wide`, a query or an operand. Never -0. */
export function cosine(root: usize, wide: usize, ordinal: u32): f32 {
  const vector = vectorAt(root, ordinal);
  const bytes: usize = load<u32>(root, ROOT_WIDE_BYTES);
  const product = isNarrow(root) ? narrowDot(vector, wide, bytes) : wideDot(vector, wide, bytes);
  const scale = <f64>load<f32>(wide - SCALE_BEFORE) * <f64>load<f32>(rowWordsAt(root, ordinal), ROW_SCALE);
  return max<f32>(-1, min<f32>(1, <f32>(<f64>product * scale)));
}

/** The reciprocal of the length of a query or an operand. @inline */
export function scaleOf(wide: usize): f32 {
  return load<f32>(wide - SCALE_BEFORE);
}

/** Writes a row to `target` as an operand, to be compared with other rows. Returns `target`. */
export function setOperand(root: usize, ordinal: u32, target: usize): usize {
  const vector = vectorAt(root, ordinal);
  const bytes: usize = load<u32>(root, ROOT_WIDE_BYTES);
  store<f32>(target - SCALE_BEFORE, load<f32>(rowWordsAt(root, ordinal), ROW_SCALE));
  if (isNarrow(root))
    for (let at: usize = 0; at < bytes; at += 16) v128.store(target + at, v128.load8x8_s(vector + (at >> 1)));
  else memory.copy(target, vector, bytes);
  return target;
}

/** Writes a vector of floats as a query, scaled to the length `WIDE_SCALE`. A zero vector stays zero. */
function setQuery(floats: usize, root: usize, target: usize): void {
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
    ROW_SCALE,
  );
}

/**
 * Writes `dim` floats as 16-bit numbers of the length `WIDE_SCALE`, padded with zeros to `bytes`. Returns the
 * reciprocal of the length of the result.
 */
function widen(floats: usize, target: usize, dim: u32, bytes: usize): f32 {
  const squares = squaresOf(floats, dim);
  scaleToWide(floats, target, dim, bytes, squares > 0 ? <f64>WIDE_SCALE / sqrt<f64>(squares) : 0);
  return inverse(<f64>wideDot(target, target, bytes));
}

/** The sum of the squares of `dim` floats. */
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

/** The lower two of four floats times `scale`, as integers. @inline */
function twoScaled(x: v128, scale: v128): v128 {
  return i32x4.trunc_sat_f64x2_s_zero(f64x2.nearest(f64x2.mul(f64x2.promote_low_f32x4(x), scale)));
}

/** Four floats times `scale`, as integers. @inline */
function fourScaled(x: v128, scale: v128): v128 {
  return i64x2.shuffle(twoScaled(x, scale), twoScaled(i64x2.shuffle(x, x, 1, 1), scale), 0, 2);
}

/** Writes `count` floats times `scale` as 16-bit numbers, padded with zeros to `bytes`. */
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

const NARROW_MAX = 127;

/**
 * Writes `dim` floats as 8-bit numbers with `NARROW_MAX` as the largest, padded with zeros to `bytes`. Returns the
 * reciprocal of the length of the result.
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

// Arithmetic on rows of floats, padded with zeros, for learning principal components; and the conversion of a row of
// the index to such a row.

/** Bytes of a row of an index as floats. @inline */
export function floatBytes(root: usize): usize {
  return (<usize>load<u32>(root, ROOT_WIDE_BYTES)) << 1;
}

/**
 * Dot product of two rows of floats; `bytes` is a multiple of 64. Four accumulators hide the latency of the additions.
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

/** Adds `factor` times the row `source` to the row `target`. @inline */
export function addScaled(target: usize, factor: f32, source: usize, bytes: usize): void {
  const factors = f32x4.splat(factor);
  for (let at: usize = 0; at < bytes; at += 16)
    v128.store(target + at, f32x4.add(v128.load(target + at), f32x4.mul(factors, v128.load(source + at))));
}

/**
 * Writes a row of the index to `target` as floats of unit length. `room` is memory for an operand, with space for its
 * scale in front.
 */
export function toFloats(root: usize, ordinal: u32, target: usize, work: usize): void {
  const bytes: usize = load<u32>(root, ROOT_WIDE_BYTES);
  const wide = setOperand(root, ordinal, work);
  const unit = f32x4.splat(scaleOf(wide));
  for (let at: usize = 0; at < bytes; at += 16) {
    const numbers = v128.load(wide + at);
    v128.store(target + (at << 1), f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(numbers)), unit));
    v128.store(target + (at << 1), f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(numbers)), unit), 16);
  }
}

// The query of a search or an insertion, in the scratch of its thread: a vector of 16-bit numbers, followed by room for
// an operand, which is compared with rows on the way, and for the query table.

/**
 * The maximum size of a query table of at most 512 slots: 16-bit numbers, and the floats from which they are computed.
 */
const QUERY_TABLE_BYTES_MAX = 6 * 512;

/** Makes room for query, operand and query table. False when memory is full. */
export function ensureQuery(scratch: usize, root: usize): bool {
  return ensureArea(
    scratch,
    SCRATCH_QUERY,
    (<usize>load<u32>(root, ROOT_WIDE_BYTES) + LINE_BYTES) * 2 + QUERY_TABLE_BYTES_MAX,
  );
}

/**
 * Address of the query. The cache line in front of it holds its scale; so does the one in front of the operand. @inline
 */
export function queryIn(scratch: usize): usize {
  return areaAt(scratch, SCRATCH_QUERY) + LINE_BYTES;
}

/** @inline */
export function operandIn(scratch: usize, root: usize): usize {
  return queryIn(scratch) + <usize>load<u32>(root, ROOT_WIDE_BYTES) + LINE_BYTES;
}

/** @inline */
export function queryTableIn(scratch: usize, root: usize): usize {
  return operandIn(scratch, root) + <usize>load<u32>(root, ROOT_WIDE_BYTES);
}

/** Writes the vector in the input area as the query. Returns the address of the query, or 0 when memory is full. */
export function prepareQuery(scratch: usize, root: usize): usize {
  if (!ensureQuery(scratch, root)) return 0;
  setQuery(areaAt(scratch, SCRATCH_INPUT), root, queryIn(scratch));
  return queryIn(scratch);
}
