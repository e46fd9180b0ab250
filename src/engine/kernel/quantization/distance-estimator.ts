// The distance estimator that leads graph searches. It scores nodes for one query with integers, of which a higher one
// is nearer. The scores come from quantized vectors, which take one or two cache lines each, or from the rows in an
// index without them. Nodes are scored in batches, so that their memory accesses overlap. Any thread.
import {
  ESTIMATOR_QUANTIZER,
  ESTIMATOR_SCALE,
  LINE_BYTES,
  QUANTIZER_COMPONENTS_2,
  QUANTIZER_COMPONENTS_4,
  QUANTIZER_FIRST_2,
  QUANTIZER_FIRST_4,
  QUANTIZER_PARENTS,
  QUANTIZER_ROW_BYTES,
  QUANTIZER_WIDE_BYTES,
  ROOT_QUANTIZER,
  ROOT_ROW_BYTES,
  SCORES,
  TOUCHED,
} from '../../memory/layout';
import { batched, touch } from '../memory/row-blocks';
import { cosine, fourComponentDots, pairSums, queryIn, queryTableIn } from './distance';
import { componentAt, componentsOf, parentAt, quantizedAt, stepAt, unitAt } from './quantized-vectors';

// The query table: the query's coordinate along each principal component times the step of the slot, as 16-bit numbers.
// Terms that are the same for all rows (the mean, and the middle of each step) are left out.

/** The largest number in a query table. A sum of one and 16 times another fits 16 bits. */
const QUERY_TABLE_MAX = 1927;

/** Writes the query table of a query of 16-bit numbers. Returns the score of a cosine of 1. */
function prepareQueryTable(quantizer: usize, wide: usize, table: usize): f32 {
  const bytes: usize = load<u32>(quantizer, QUANTIZER_WIDE_BYTES);
  const components: usize = componentsOf(quantizer);
  const floats = table + (components << 1);
  const components4 = load<u32>(quantizer, QUANTIZER_COMPONENTS_4);
  const parents = load<u32>(quantizer, QUANTIZER_PARENTS) != 0;
  const end4 = parents ? load<u32>(quantizer, QUANTIZER_FIRST_4) : components4;
  const end2 = parents ? components4 + load<u32>(quantizer, QUANTIZER_FIRST_2) : <u32>components;
  const largest = f32x4.pmax(
    scaleSlots(quantizer, wide, floats, bytes, 0, end4),
    scaleSlots(quantizer, wide, floats, bytes, components4, end2),
  );
  if (parents) {
    for (let slot = end4; slot < components4; slot++) scaleFiner(quantizer, floats, slot);
    for (let slot = end2; slot < <u32>components; slot++) scaleFiner(quantizer, floats, slot);
  }
  const most = max(
    max(f32x4.extract_lane(largest, 0), f32x4.extract_lane(largest, 1)),
    max(f32x4.extract_lane(largest, 2), f32x4.extract_lane(largest, 3)),
  );
  const scale: f32 = most > 0 ? <f32>QUERY_TABLE_MAX / most : 0;
  writeQueryTable(floats, table, components, load<u32>(quantizer, QUANTIZER_COMPONENTS_4), scale);
  return scale;
}

/**
 * Writes the query's coordinates of the slots [from, end), times their steps, as floats. Returns the largest absolute
 * values, in lanes.
 */
function scaleSlots(quantizer: usize, wide: usize, floats: usize, bytes: usize, from: u32, end: u32): v128 {
  let largest = f32x4.splat(0);
  for (let slot = from; slot < end; slot += 4) {
    const products = f32x4.convert_i32x4_s(fourComponentDots(componentAt(quantizer, slot), wide, bytes));
    const values = f32x4.mul(
      products,
      f32x4.mul(v128.load(unitAt(quantizer, slot)), v128.load(stepAt(quantizer, slot))),
    );
    v128.store(floats + ((<usize>slot) << 2), values);
    largest = f32x4.pmax(largest, f32x4.abs(values));
  }
  return largest;
}

/** Writes the entry of a slot that refines another: that of the other slot, scaled to the step of this one. @inline */
function scaleFiner(quantizer: usize, floats: usize, slot: u32): void {
  const parent = load<u32>(parentAt(quantizer, slot));
  const share = load<f32>(stepAt(quantizer, slot)) / load<f32>(stepAt(quantizer, parent));
  store<f32>(floats + ((<usize>slot) << 2), load<f32>(floats + ((<usize>parent) << 2)) * share);
}

/** Scales `components` floats and writes the integers by which levels are multiplied. */
function writeQueryTable(floats: usize, table: usize, components: usize, components4: usize, scale: f32): void {
  for (let component: usize = 0; component < components; component += 4) {
    const at = floats + (component << 2);
    v128.store(at, f32x4.nearest(f32x4.mul(v128.load(at), f32x4.splat(scale))));
  }
  for (let component: usize = 0; component < components; component += 8) {
    // The level eight slots further on is in the same lane above this one and is not masked off, so it counts 16 times
    // (4-bit levels) or 4 times (2-bit levels) in this slot's product. Each number is reduced by that much of the
    // number eight slots before.
    const isLowest = component < components4 ? (component & 31) == 0 : ((component - components4) & 63) == 0;
    const taken = f32x4.splat(isLowest ? 0 : component < components4 ? <f32>16 : <f32>4);
    const at = floats + (component << 2);
    const below = isLowest ? at : at - 32;
    v128.store(
      table + (component << 1),
      i16x8.narrow_i32x4_s(fourWithout(at, below, taken), fourWithout(at + 16, below + 16, taken)),
    );
  }
}

/** Four floats less `taken` times four others, as integers. @inline */
function fourWithout(at: usize, below: usize, taken: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.sub(v128.load(at), f32x4.mul(v128.load(below), taken)));
}

// The score of a quantized vector is the dot product of its levels with the query table. Scores can be compared only
// for one query. Four vectors are scored at a time, so the query table is loaded once for all of them, and their memory
// accesses overlap. A lane of 16 bits holds several levels, and x >> s holds the level at bit s with those above it.
// These are not masked off: the query table has their contribution subtracted in advance, from the number for the next
// shift. Intermediate sums may overflow 32 bits, which is harmless because the score does not.

/**
 * Scores four quantized vectors, each of `bytes4` bytes of 4-bit levels and `bytes2` bytes of 2-bit levels, both
 * multiples of 16.
 * @inline
 */
export function fourScores(a: usize, b: usize, c: usize, d: usize, table: usize, bytes4: usize, bytes2: usize): v128 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  const middle = a + bytes4;
  const end = middle + bytes2;
  b -= a;
  c -= a;
  d -= a;
  for (; a < middle; a += 16, table += 64) {
    const q0 = v128.load(table);
    const q1 = v128.load(table, 16);
    const q2 = v128.load(table, 32);
    const q3 = v128.load(table, 48);
    s0 = i32x4.add(s0, fourLevels(v128.load(a), 4, q0, q1, q2, q3));
    s1 = i32x4.add(s1, fourLevels(v128.load(b + a), 4, q0, q1, q2, q3));
    s2 = i32x4.add(s2, fourLevels(v128.load(c + a), 4, q0, q1, q2, q3));
    s3 = i32x4.add(s3, fourLevels(v128.load(d + a), 4, q0, q1, q2, q3));
  }
  for (; a < end; a += 16, table += 128) {
    const x0 = v128.load(a);
    const x1 = v128.load(b + a);
    const x2 = v128.load(c + a);
    const x3 = v128.load(d + a);
    let q0 = v128.load(table);
    let q1 = v128.load(table, 16);
    let q2 = v128.load(table, 32);
    let q3 = v128.load(table, 48);
    s0 = i32x4.add(s0, fourLevels(x0, 2, q0, q1, q2, q3));
    s1 = i32x4.add(s1, fourLevels(x1, 2, q0, q1, q2, q3));
    s2 = i32x4.add(s2, fourLevels(x2, 2, q0, q1, q2, q3));
    s3 = i32x4.add(s3, fourLevels(x3, 2, q0, q1, q2, q3));
    q0 = v128.load(table, 64);
    q1 = v128.load(table, 80);
    q2 = v128.load(table, 96);
    q3 = v128.load(table, 112);
    s0 = i32x4.add(s0, fourLevels(i16x8.shr_s(x0, 8), 2, q0, q1, q2, q3));
    s1 = i32x4.add(s1, fourLevels(i16x8.shr_s(x1, 8), 2, q0, q1, q2, q3));
    s2 = i32x4.add(s2, fourLevels(i16x8.shr_s(x2, 8), 2, q0, q1, q2, q3));
    s3 = i32x4.add(s3, fourLevels(i16x8.shr_s(x3, 8), 2, q0, q1, q2, q3));
  }
  return i32x4.add(pairSums(s0, s1, s2, s3, true), pairSums(s0, s1, s2, s3, false));
}

/** The contribution of the lowest four levels of each lane to a score. @inline */
function fourLevels(x: v128, bits: i32, q0: v128, q1: v128, q2: v128, q3: v128): v128 {
  const low = i32x4.add(i32x4.dot_i16x8_s(x, q0), i32x4.dot_i16x8_s(i16x8.shr_s(x, bits), q1));
  const high = i32x4.add(
    i32x4.dot_i16x8_s(i16x8.shr_s(x, 2 * bits), q2),
    i32x4.dot_i16x8_s(i16x8.shr_s(x, 3 * bits), q3),
  );
  return i32x4.add(low, high);
}

/** The score of a cosine of 1 when rows lead the search. */
const ROW_UNIT: f32 = 1073741824;

/**
 * Selects the quantized vectors now in use for graph searches to the query in the scratch, and writes the query table.
 * With `byRows`, or without quantized vectors, rows are used.
 */
export function prepareEstimator(scratch: usize, root: usize, byRows: bool): void {
  const quantizer: usize = byRows ? 0 : atomic.load<u32>(root, ROOT_QUANTIZER);
  store<u32>(scratch, <u32>quantizer, ESTIMATOR_QUANTIZER);
  if (quantizer)
    store<f32>(scratch, prepareQueryTable(quantizer, queryIn(scratch), queryTableIn(scratch, root)), ESTIMATOR_SCALE);
}

/** Scores the first `count` of BATCH. @inline */
export function scoreBatch(scratch: usize, root: usize, count: u32): void {
  const quantizer: usize = load<u32>(scratch, ESTIMATOR_QUANTIZER);
  if (quantizer) scoreQuantized(scratch, quantizer, queryTableIn(scratch, root), count);
  else scoreRows(scratch, root, count);
}

/** @inline */
export function batchedScore(scratch: usize, place: u32): i32 {
  return load<i32>(scratch + ((<usize>place) << 2), SCORES);
}

function scoreRows(scratch: usize, root: usize, count: u32): void {
  touch(scratch, root, count, load<u32>(root, ROOT_ROW_BYTES));
  for (let i: u32 = 0; i < count; i++)
    store<i32>(
      scratch + ((<usize>i) << 2),
      <i32>(cosine(root, queryIn(scratch), batched(scratch, i)) * ROW_UNIT),
      SCORES,
    );
}

/**
 * The address of each quantized vector is computed once, when it is touched, and kept where the score will be written.
 * @inline
 */
function scoreQuantized(scratch: usize, quantizer: usize, table: usize, count: u32): void {
  touchQuantized(scratch, quantizer, count);
  const bytes4: usize = load<u32>(quantizer, QUANTIZER_COMPONENTS_4) >> 1;
  const bytes2: usize = load<u32>(quantizer, QUANTIZER_COMPONENTS_2) >> 2;
  const last = count - 1;
  for (let i: u32 = 0; i < count; i += 4) {
    const a = touched(scratch, i);
    const b = touched(scratch, min(i + 1, last));
    const c = touched(scratch, min(i + 2, last));
    const d = touched(scratch, min(i + 3, last));
    v128.store(scratch + ((<usize>i) << 2), fourScores(a, b, c, d, table, bytes4, bytes2), SCORES);
  }
}

/** @inline */
function touched(scratch: usize, place: u32): usize {
  return load<u32>(scratch + ((<usize>place) << 2), SCORES);
}

/** Loads the quantized vectors of the first `count` of BATCH into the cache. @inline */
function touchQuantized(scratch: usize, quantizer: usize, count: u32): void {
  let bits: u32 = 0;
  const rowBytes: usize = load<u32>(quantizer, QUANTIZER_ROW_BYTES);
  for (let i: u32 = 0; i < count; i++) {
    const code = quantizedAt(quantizer, batched(scratch, i));
    store<u32>(scratch + ((<usize>i) << 2), <u32>code, SCORES);
    bits ^= load<u8>(code);
    if (rowBytes > <usize>LINE_BYTES) bits ^= load<u8>(code + LINE_BYTES);
  }
  store<u32>(scratch, bits, TOUCHED);
}
