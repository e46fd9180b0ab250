// A query for the walk, folded: where it lies along each axis, times the step of the axis, as 16-bit
// numbers, of which score.ts tells more. What is the same for all rows (mean, middle of the steps) is left out. Any
// thread.
import {
  CODES_AXES_4,
  CODES_FIRST_2,
  CODES_FIRST_4,
  CODES_PARENTS,
  CODES_WIDE_BYTES,
  FOLDED_MAX,
} from '../../codes/layout';
import { axesOf, axisAt, parentAt, stepAt, unitAt } from './codes';
import { fourAxisDots } from '../wide';

/** Folds a query of 16-bit numbers; answers what a cosine of 1 scores. */
export function foldQuery(codes: usize, wide: usize, folded: usize): f32 {
  const bytes: usize = load<u32>(codes, CODES_WIDE_BYTES);
  const axes: usize = axesOf(codes);
  const floats = folded + (axes << 1);
  const axes4 = load<u32>(codes, CODES_AXES_4);
  const parents = load<u32>(codes, CODES_PARENTS) != 0;
  const end4 = parents ? load<u32>(codes, CODES_FIRST_4) : axes4;
  const end2 = parents ? axes4 + load<u32>(codes, CODES_FIRST_2) : <u32>axes;
  const largest = f32x4.pmax(
    foldSlots(codes, wide, floats, bytes, 0, end4),
    foldSlots(codes, wide, floats, bytes, axes4, end2),
  );
  if (parents) {
    for (let slot = end4; slot < axes4; slot++) foldFiner(codes, floats, slot);
    for (let slot = end2; slot < <u32>axes; slot++) foldFiner(codes, floats, slot);
  }
  const most = max(
    max(f32x4.extract_lane(largest, 0), f32x4.extract_lane(largest, 1)),
    max(f32x4.extract_lane(largest, 2), f32x4.extract_lane(largest, 3)),
  );
  const scale: f32 = most > 0 ? <f32>FOLDED_MAX / most : 0;
  writeFolded(floats, folded, axes, load<u32>(codes, CODES_AXES_4), scale);
  return scale;
}

/** Writes where the query lies along the axes of the slots [from, end), times their steps; answers the largest in lanes. */
function foldSlots(codes: usize, wide: usize, floats: usize, bytes: usize, from: u32, end: u32): v128 {
  let largest = f32x4.splat(0);
  for (let slot = from; slot < end; slot += 4) {
    const products = f32x4.convert_i32x4_s(fourAxisDots(axisAt(codes, slot), wide, bytes));
    const values = f32x4.mul(products, f32x4.mul(v128.load(unitAt(codes, slot)), v128.load(stepAt(codes, slot))));
    v128.store(floats + ((<usize>slot) << 2), values);
    largest = f32x4.pmax(largest, f32x4.abs(values));
  }
  return largest;
}

/** The same of a slot that refines another: its step is a part of that one's. @inline */
function foldFiner(codes: usize, floats: usize, slot: u32): void {
  const parent = load<u32>(parentAt(codes, slot));
  const share = load<f32>(stepAt(codes, slot)) / load<f32>(stepAt(codes, parent));
  store<f32>(floats + ((<usize>slot) << 2), load<f32>(floats + ((<usize>parent) << 2)) * share);
}

/** Writes `axes` floats, times `scale`, as the whole numbers that score.ts multiplies levels by. */
function writeFolded(floats: usize, folded: usize, axes: usize, axes4: usize, scale: f32): void {
  for (let axis: usize = 0; axis < axes; axis += 4) {
    const at = floats + (axis << 2);
    v128.store(at, f32x4.nearest(f32x4.mul(v128.load(at), f32x4.splat(scale))));
  }
  for (let axis: usize = 0; axis < axes; axis += 8) {
    // Eight axes on stands the level above, which the shift before it did not mask away: 16 or 4 of it for each of this
    // one's.
    const isLowest = axis < axes4 ? (axis & 31) == 0 : ((axis - axes4) & 63) == 0;
    const taken = f32x4.splat(isLowest ? 0 : axis < axes4 ? <f32>16 : <f32>4);
    const at = floats + (axis << 2);
    const below = isLowest ? at : at - 32;
    v128.store(
      folded + (axis << 1),
      i16x8.narrow_i32x4_s(fourWithout(at, below, taken), fourWithout(at + 16, below + 16, taken)),
    );
  }
}

/** Four floats without so much of four others, as whole numbers. @inline */
function fourWithout(at: usize, below: usize, taken: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.sub(v128.load(at), f32x4.mul(v128.load(below), taken)));
}
