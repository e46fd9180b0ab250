// Encodes rows as quantized vectors, and creates, replaces and drops the quantized vectors of an index. A quantized
// vector gives the row's offset from the mean along each principal component, in steps of its slots. Neighbouring slots
// are in neighbouring 16-bit lanes, so that a load and a shift bring eight of them into line with the query table.
// Owner only.
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

// The quantized vectors under construction exist beside those in use and replace them by one store in the root of the
// index, so a search ends with those that it began with.

/**
 * Creates quantized vectors of `rowBytes`, a multiple of 32, beside those of an index. They have neither rows nor slots
 * until `learned` principal components are known. False when memory is full.
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
 * Gives the quantized vectors under construction their slots of 4 bits and of 2 bits. `first4` and `first2` are the
 * numbers of those that are the first of their component; these stand before the others. The slot plan is at `plan`.
 * Until `writeAxes`, the number of a slot's component and its step in standard deviations are stored in the places of
 * its unit and step. False when memory is full.
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

/** Puts the quantized vectors under construction into use and retires those before them. */
export function exchangeCodes(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES);
  atomic.store<u32>(root, load<u32>(root, ROOT_CODES_NEXT), ROOT_CODES);
  store<u32>(root, 0, ROOT_CODES_NEXT);
  dropBlocks(codes);
}

/** Drops the quantized vectors under construction. */
export function dropNext(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  store<u32>(root, 0, ROOT_CODES_NEXT);
  dropBlocks(codes);
}

/** Drops the quantized vectors of an index. Rows lead its graph searches from then on. */
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
 * Makes room for the row in the quantized vectors in use; false when memory is full. Makes room in those under
 * construction too, which are dropped when memory is full.
 */
export function ensureCodes(root: usize, ordinal: u32): bool {
  const codes: usize = load<u32>(root, ROOT_CODES);
  const next: usize = load<u32>(root, ROOT_CODES_NEXT);
  if (next && !ensureCode(next, ordinal)) dropNext(root);
  return !codes || ensureCode(codes, ordinal);
}

/**
 * Encodes a row for the quantized vectors in use, and for those under construction once their components are known.
 * Requires `ensureCodes` and `ensureQuery`.
 */
export function encodeRow(scratch: usize, root: usize, ordinal: u32): void {
  const codes: usize = load<u32>(root, ROOT_CODES);
  const next: usize = load<u32>(root, ROOT_CODES_NEXT);
  if (codes) encode(scratch, codes, root, ordinal);
  if (next && !load<u32>(next, CODES_WORK)) encode(scratch, next, root, ordinal);
}

/**
 * Encodes the rows [from, end), live or not, for the quantized vectors under construction. False when memory is full.
 */
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
    // The topmost level of a lane is signed, since lanes are signed.
    const signed = level ^ (shift + bits == 16 ? <u32>half : 0);
    store<u16>(code + lane, load<u16>(code + lane) | <u16>(signed << shift));
  }
}

/** Writes the row's offset from the mean along the component of each slot, as floats. */
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
 * The level of a slot: the number of steps of the row's offset along the component or, for a slot that refines another,
 * of the offset from the middle of that slot's step. The offset is replaced by what remains from the middle of this
 * slot's step.
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

/** Offset of the 16-bit lane of a slot. Each 16 bytes hold 8 lanes of 16 / `bits` slots. @inline */
function laneOf(axis: u32, bits: u32): usize {
  return <usize>((axis / (128 / bits)) << 4) + <usize>((axis & 7) << 1);
}

/** @inline */
function shiftIn(axis: u32, bits: u32): u32 {
  return ((axis % (128 / bits)) >> 3) * bits;
}
