// From a row to its code: where it lies along each axis, from the mean, in steps of the axis. Neighbouring axes stand in
// neighbouring 16-bit lanes, so that a load and a shift bring eight of them into the lanes of the folded query. Owner's thread.
import { CODES_AXES_4, CODES_DIM, CODES_ROW_BYTES, CODES_WIDE_BYTES } from '../../codes/layout';
import { vectorAt } from '../rows';
import { axesOf, axisAt, codeAt, ensureCode, offsetAt, stepAt, unitAt, wideAt } from './codes';
import { axisDot, widen } from './wide';

/** Writes code and wide row of the rows [from, end) of the index, live or not. False when memory is full. Requires axes. */
export function encodeRows(codes: usize, root: usize, from: u32, end: u32): bool {
  for (let ordinal = from; ordinal < end; ordinal++) {
    if (!ensureCode(codes, ordinal)) return false;
    const wide = wideAt(codes, ordinal);
    widen(vectorAt(root, ordinal), wide, load<u32>(codes, CODES_DIM), load<u32>(codes, CODES_WIDE_BYTES));
    encode(codes, wide, codeAt(codes, ordinal));
  }
  return true;
}

function encode(codes: usize, wide: usize, code: usize): void {
  const axes = axesOf(codes);
  const axes4 = load<u32>(codes, CODES_AXES_4);
  memory.fill(code, 0, load<u32>(codes, CODES_ROW_BYTES));
  for (let axis: u32 = 0; axis < axes; axis++) {
    const bits: u32 = axis < axes4 ? 4 : 2;
    const lane = axis < axes4 ? laneOf(axis, 4) : <usize>(axes4 >> 1) + laneOf(axis - axes4, 2);
    const shift = axis < axes4 ? shiftIn(axis, 4) : shiftIn(axis - axes4, 2);
    // The topmost level of a lane is signed, as the lane is.
    const level = levelOn(codes, wide, axis, bits) ^ (shift + bits == 16 ? 1 << (bits - 1) : 0);
    store<u16>(code + lane, load<u16>(code + lane) | <u16>(level << shift));
  }
}

/** Offset of the 16-bit lane of an axis: blocks of 16 bytes hold 8 lanes of 16 / `bits` axes. */
@inline function laneOf(axis: u32, bits: u32): usize {
  return <usize>((axis / (128 / bits)) << 4) + <usize>((axis & 7) << 1);
}

@inline function shiftIn(axis: u32, bits: u32): u32 {
  return ((axis % (128 / bits)) >> 3) * bits;
}

@inline function levelOn(codes: usize, wide: usize, axis: u32, bits: u32): u32 {
  const product = axisDot(axisAt(codes, axis), wide, load<u32>(codes, CODES_WIDE_BYTES));
  const along = <f32>product * load<f32>(unitAt(codes, axis)) - load<f32>(offsetAt(codes, axis));
  const step = load<f32>(stepAt(codes, axis));
  const half = <i32>(1 << (bits - 1));
  const level = step > 0 ? <i32>max<f32>(-100, min<f32>(100, floor<f32>(along / step))) : 0;
  return <u32>max(0, min(2 * half - 1, level + half));
}
