// The codes of an index: from a row to its code, and how codes come and go. A code says where the row lies along each
// axis, from the mean, in steps of its slots. Neighbouring slots stand in neighbouring 16-bit lanes, so that a load and
// a shift bring eight of them into the lanes of the folded query. Owner only.
import {
  CODES_AXES,
  CODES_AXES_2,
  CODES_AXES_4,
  CODES_BYTES,
  CODES_DIM,
  CODES_FIRST_2,
  CODES_FIRST_4,
  CODES_LEARNED,
  CODES_LINES,
  CODES_PARENTS,
  CODES_ROW_BLOCKS,
  CODES_ROW_BYTES,
  CODES_STEPS,
  CODES_WIDE_BYTES,
  CODES_WORK,
  NONE,
  PLAN_AXIS,
  PLAN_BYTES,
  PLAN_PARENT,
  PLAN_STEP,
  ROOT_CODES,
  ROOT_CODES_NEXT,
  ROOT_DIM,
  ROOT_WIDE_BYTES,
  TABLE_BYTES,
  WIDE_SCALE,
} from '../../memory/layout';
import { allocate, linesOf } from '../memory/arena';
import { retire } from '../memory/epochs';
import { hasRow } from '../memory/row-blocks';
import { ensureQuery, foldedIn, fourAxisDots, operandIn, scaleOf, setOperand } from './distance';
import { beginAxes } from './principal-components';
import {
  addCodesBlock,
  axesOf,
  axisAt,
  codeAt,
  ensureCode,
  offsetAt,
  parentAt,
  stepAt,
  unitAt,
} from './quantized-vectors';

// The life of the codes: those being made stand beside those in use and take their place by one word of its root, so a
// search that began by the old ones ends by them.

/**
 * Makes codes of `rowBytes`, a multiple of 32, without rows beside those of an index, to be given slots when `learned`
 * axes are known. False when memory is full.
 */
export function createCodes(root: usize, learned: u32, rowBytes: u32): bool {
  const codes = allocate(CODES_BYTES);
  if (!codes) return false;
  memory.fill(codes, 0, CODES_BYTES);
  store<u32>(codes, load<u32>(root, ROOT_DIM), CODES_DIM);
  store<u32>(codes, learned, CODES_LEARNED);
  store<u32>(codes, rowBytes, CODES_ROW_BYTES);
  store<u32>(codes, load<u32>(root, ROOT_WIDE_BYTES), CODES_WIDE_BYTES);
  store<u32>(codes, linesOf(codes), CODES_LINES);
  store<u32>(root, <u32>codes, ROOT_CODES_NEXT);
  if (beginAxes(root)) return true;
  dropNext(root);
  return false;
}

/**
 * Gives the codes their slots, of 4 bits and of 2 bits, the first of each kind being the first of their axis. The plan
 * of each slot stands at `plan`; its axis and its step stand in the place of unit and step until writeAxes. False when
 * memory is full.
 */
export function planCodes(root: usize, plan: usize, slots4: u32, slots2: u32, first4: u32, first2: u32): bool {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const slots = slots4 + slots2;
  store<u32>(codes, slots4, CODES_AXES_4);
  store<u32>(codes, slots2, CODES_AXES_2);
  store<u32>(codes, first4, CODES_FIRST_4);
  store<u32>(codes, first2, CODES_FIRST_2);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>load<u32>(codes, CODES_WIDE_BYTES) * slots), CODES_AXES);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>16 * slots), CODES_STEPS);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>4 * slots), CODES_PARENTS);
  if (!load<u32>(codes, CODES_AXES) || !load<u32>(codes, CODES_STEPS) || !load<u32>(codes, CODES_PARENTS)) return false;
  for (let slot: u32 = 0; slot < slots; slot++, plan += PLAN_BYTES) {
    store<u32>(unitAt(codes, slot), load<u32>(plan, PLAN_AXIS));
    store<u32>(parentAt(codes, slot), load<u32>(plan, PLAN_PARENT));
    store<f32>(stepAt(codes, slot), load<f32>(plan, PLAN_STEP));
  }
  return true;
}

/** Puts the codes that have been made in the place of those before them, which go when no reader sees them any more. */
export function exchangeCodes(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES);
  atomic.store<u32>(root, load<u32>(root, ROOT_CODES_NEXT), ROOT_CODES);
  store<u32>(root, 0, ROOT_CODES_NEXT);
  dropBlocks(codes);
}

/** Gives up the codes that are being made. */
export function dropNext(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  store<u32>(root, 0, ROOT_CODES_NEXT);
  dropBlocks(codes);
}

/** Gives up the codes of an index: walks go by rows. */
export function dropCodes(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES);
  atomic.store<u32>(root, 0, ROOT_CODES);
  dropBlocks(codes);
}

function dropBlocks(codes: usize): void {
  if (!codes) return;
  for (let slot: usize = 0; slot < <usize>TABLE_BYTES; slot += 4) retire(load<u32>(codes + slot, CODES_ROW_BLOCKS));
  retire(load<u32>(codes, CODES_AXES));
  retire(load<u32>(codes, CODES_STEPS));
  retire(load<u32>(codes, CODES_PARENTS));
  retire(load<u32>(codes, CODES_WORK));
  retire(codes);
}

/**
 * Makes room for the row in the codes of an index, false when memory is full, and in those being made, which are given
 * up then.
 */
export function ensureCodes(root: usize, ordinal: u32): bool {
  const codes: usize = load<u32>(root, ROOT_CODES);
  const next: usize = load<u32>(root, ROOT_CODES_NEXT);
  if (next && !ensureCode(next, ordinal)) dropNext(root);
  return !codes || ensureCode(codes, ordinal);
}

/** Encodes a row by all axes there are. Requires `ensureCodes` and `ensureQuery`. */
export function encodeRow(scratch: usize, root: usize, ordinal: u32): void {
  const codes: usize = load<u32>(root, ROOT_CODES);
  const next: usize = load<u32>(root, ROOT_CODES_NEXT);
  if (codes) encode(scratch, codes, root, ordinal);
  if (next && !load<u32>(next, CODES_WORK)) encode(scratch, next, root, ordinal);
}

/** Encodes the rows [from, end), live or not, by the axes learned last. False when memory is full. */
export function encodeRows(scratch: usize, root: usize, from: u32, end: u32): bool {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  if (!ensureQuery(scratch, root)) return false;
  for (let ordinal = from; ordinal < end; ordinal++) {
    if (!hasRow(root, ordinal)) continue;
    if (!ensureCode(codes, ordinal)) return false;
    encode(scratch, codes, root, ordinal);
  }
  return true;
}

function encode(scratch: usize, codes: usize, root: usize, ordinal: u32): void {
  const wide = setOperand(root, ordinal, operandIn(scratch, root));
  const along = foldedIn(scratch, root);
  setAlong(codes, wide, along);
  const code = codeAt(codes, ordinal);
  const axes = axesOf(codes);
  const axes4 = load<u32>(codes, CODES_AXES_4);
  memory.fill(code, 0, load<u32>(codes, CODES_ROW_BYTES));
  for (let axis: u32 = 0; axis < axes; axis++) {
    const bits: u32 = axis < axes4 ? 4 : 2;
    const lane = axis < axes4 ? laneOf(axis, 4) : <usize>(axes4 >> 1) + laneOf(axis - axes4, 2);
    const shift = axis < axes4 ? shiftIn(axis, 4) : shiftIn(axis - axes4, 2);
    const half = <i32>(1 << (bits - 1));
    const level = <u32>(takeLevel(codes, along, axis, half) + half);
    // The topmost level of a lane is signed, as the lane is.
    const signed = level ^ (shift + bits == 16 ? <u32>half : 0);
    store<u16>(code + lane, load<u16>(code + lane) | <u16>(signed << shift));
  }
}

/** Writes how far the row lies from the mean along the axis of each slot, as floats. */
function setAlong(codes: usize, wide: usize, along: usize): void {
  const bytes: usize = load<u32>(codes, CODES_WIDE_BYTES);
  const length = f32x4.splat(scaleOf(wide) * <f32>WIDE_SCALE);
  for (let slot: u32 = 0; slot < axesOf(codes); slot += 4) {
    const products = f32x4.convert_i32x4_s(fourAxisDots(axisAt(codes, slot), wide, bytes));
    v128.store(
      along + ((<usize>slot) << 2),
      f32x4.sub(
        f32x4.mul(f32x4.mul(products, length), v128.load(unitAt(codes, slot))),
        v128.load(offsetAt(codes, slot)),
      ),
    );
  }
}

/**
 * The level of a slot: how many steps the row lies along its axis, or from the middle of the step of the slot that it
 * refines, which has been taken before. Leaves what lies between the middle of the step and the row in its place.
 * @inline
 */
function takeLevel(codes: usize, along: usize, slot: u32, half: i32): i32 {
  const parent = load<u32>(codes, CODES_PARENTS) ? load<u32>(parentAt(codes, slot)) : NONE;
  const value = load<f32>(along + ((<usize>(parent == NONE ? slot : parent)) << 2));
  const step = load<f32>(stepAt(codes, slot));
  const level = step > 0 ? max(-half, min(half - 1, <i32>floor<f32>(value / step))) : 0;
  store<f32>(along + ((<usize>slot) << 2), value - (<f32>level + <f32>0.5) * step);
  return level;
}

/** Offset of the 16-bit lane of an axis: blocks of 16 bytes hold 8 lanes of 16 / `bits` axes. @inline */
function laneOf(axis: u32, bits: u32): usize {
  return <usize>((axis / (128 / bits)) << 4) + <usize>((axis & 7) << 1);
}

/** @inline */
function shiftIn(axis: u32, bits: u32): u32 {
  return ((axis % (128 / bits)) >> 3) * bits;
}
