// Encodes rows as quantized vectors, and creates, replaces and drops the quantized vectors of an index. A quantized
// vector gives the row's offset from the mean along each principal component, in steps of its slots. Neighbouring slots
// are in neighbouring 16-bit lanes, so that a load and a shift bring eight of them into line with the query table.
// Owner only.
import {
  NONE,
  PLAN_BYTES,
  PLAN_COMPONENT,
  PLAN_PARENT,
  PLAN_STEP,
  QUANTIZER_BYTES,
  QUANTIZER_COMPONENTS,
  QUANTIZER_COMPONENTS_2,
  QUANTIZER_COMPONENTS_4,
  QUANTIZER_DIM,
  QUANTIZER_FIRST_2,
  QUANTIZER_FIRST_4,
  QUANTIZER_LEARNED,
  QUANTIZER_LINES,
  QUANTIZER_PARENTS,
  QUANTIZER_ROW_BLOCKS,
  QUANTIZER_ROW_BYTES,
  QUANTIZER_STEPS,
  QUANTIZER_WIDE_BYTES,
  QUANTIZER_WORK,
  ROOT_DIM,
  ROOT_QUANTIZER,
  ROOT_QUANTIZER_NEXT,
  ROOT_WIDE_BYTES,
  TABLE_BYTES,
  WIDE_SCALE,
} from '../../memory/layout';
import { allocate, linesOf } from '../memory/arena';
import { retire } from '../memory/epochs';
import { hasRow } from '../memory/row-blocks';
import { ensureQuery, fourComponentDots, operandIn, queryTableIn, scaleOf, setOperand } from './distance';
import { beginComponents } from './principal-components';
import {
  addQuantizedBlock,
  componentAt,
  componentsOf,
  ensureQuantized,
  offsetAt,
  parentAt,
  quantizedAt,
  stepAt,
  unitAt,
} from './quantized-vectors';

// The quantized vectors under construction exist beside those in use and replace them by one store in the root of the
// index, so a search ends with those that it began with.

/**
 * Creates quantized vectors of `rowBytes`, a multiple of 32, beside those of an index. They have neither rows nor slots
 * until `learned` principal components are known. False when memory is full.
 */
export function createQuantizer(root: usize, learned: u32, rowBytes: u32): bool {
  const quantizer = allocate(QUANTIZER_BYTES);
  if (!quantizer) return false;
  memory.fill(quantizer, 0, QUANTIZER_BYTES);
  store<u32>(quantizer, load<u32>(root, ROOT_DIM), QUANTIZER_DIM);
  store<u32>(quantizer, learned, QUANTIZER_LEARNED);
  store<u32>(quantizer, rowBytes, QUANTIZER_ROW_BYTES);
  store<u32>(quantizer, load<u32>(root, ROOT_WIDE_BYTES), QUANTIZER_WIDE_BYTES);
  store<u32>(quantizer, linesOf(quantizer), QUANTIZER_LINES);
  store<u32>(root, <u32>quantizer, ROOT_QUANTIZER_NEXT);
  if (beginComponents(root)) return true;
  dropNext(root);
  return false;
}

/**
 * Gives the quantized vectors under construction their slots of 4 bits and of 2 bits. `first4` and `first2` are the
 * numbers of those that are the first of their component; these stand before the others. The slot plan is at `plan`.
 * Until `writeComponents`, the number of a slot's component and its step in standard deviations are stored in the
 * places of its unit and step. False when memory is full.
 */
export function planQuantizer(root: usize, plan: usize, slots4: u32, slots2: u32, first4: u32, first2: u32): bool {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const slots = slots4 + slots2;
  store<u32>(quantizer, slots4, QUANTIZER_COMPONENTS_4);
  store<u32>(quantizer, slots2, QUANTIZER_COMPONENTS_2);
  store<u32>(quantizer, first4, QUANTIZER_FIRST_4);
  store<u32>(quantizer, first2, QUANTIZER_FIRST_2);
  store<u32>(
    quantizer,
    <u32>addQuantizedBlock(quantizer, <u64>load<u32>(quantizer, QUANTIZER_WIDE_BYTES) * slots),
    QUANTIZER_COMPONENTS,
  );
  store<u32>(quantizer, <u32>addQuantizedBlock(quantizer, <u64>16 * slots), QUANTIZER_STEPS);
  store<u32>(quantizer, <u32>addQuantizedBlock(quantizer, <u64>4 * slots), QUANTIZER_PARENTS);
  if (
    !load<u32>(quantizer, QUANTIZER_COMPONENTS) ||
    !load<u32>(quantizer, QUANTIZER_STEPS) ||
    !load<u32>(quantizer, QUANTIZER_PARENTS)
  )
    return false;
  for (let slot: u32 = 0; slot < slots; slot++, plan += PLAN_BYTES) {
    store<u32>(unitAt(quantizer, slot), load<u32>(plan, PLAN_COMPONENT));
    store<u32>(parentAt(quantizer, slot), load<u32>(plan, PLAN_PARENT));
    store<f32>(stepAt(quantizer, slot), load<f32>(plan, PLAN_STEP));
  }
  return true;
}

/** Puts the quantized vectors under construction into use and retires those before them. */
export function exchangeQuantizers(root: usize): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER);
  atomic.store<u32>(root, load<u32>(root, ROOT_QUANTIZER_NEXT), ROOT_QUANTIZER);
  store<u32>(root, 0, ROOT_QUANTIZER_NEXT);
  dropBlocks(quantizer);
}

/** Drops the quantized vectors under construction. */
export function dropNext(root: usize): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  store<u32>(root, 0, ROOT_QUANTIZER_NEXT);
  dropBlocks(quantizer);
}

/** Drops the quantized vectors of an index. Rows lead its graph searches from then on. */
export function dropQuantizer(root: usize): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER);
  atomic.store<u32>(root, 0, ROOT_QUANTIZER);
  dropBlocks(quantizer);
}

function dropBlocks(quantizer: usize): void {
  if (!quantizer) return;
  for (let slot: usize = 0; slot < <usize>TABLE_BYTES; slot += 4)
    retire(load<u32>(quantizer + slot, QUANTIZER_ROW_BLOCKS));
  retire(load<u32>(quantizer, QUANTIZER_COMPONENTS));
  retire(load<u32>(quantizer, QUANTIZER_STEPS));
  retire(load<u32>(quantizer, QUANTIZER_PARENTS));
  retire(load<u32>(quantizer, QUANTIZER_WORK));
  retire(quantizer);
}

/**
 * Makes room for the row in the quantized vectors in use; false when memory is full. Makes room in those under
 * construction too, which are dropped when memory is full.
 */
export function ensureQuantizer(root: usize, ordinal: u32): bool {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER);
  const next: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  if (next && !ensureQuantized(next, ordinal)) dropNext(root);
  return !quantizer || ensureQuantized(quantizer, ordinal);
}

/**
 * Encodes a row for the quantized vectors in use, and for those under construction once their components are known.
 * Requires `ensureQuantizer` and `ensureQuery`.
 */
export function encodeRow(scratch: usize, root: usize, ordinal: u32): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER);
  const next: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  if (quantizer) encode(scratch, quantizer, root, ordinal);
  if (next && !load<u32>(next, QUANTIZER_WORK)) encode(scratch, next, root, ordinal);
}

/**
 * Encodes the rows [from, end), live or not, for the quantized vectors under construction. False when memory is full.
 */
export function encodeRows(scratch: usize, root: usize, from: u32, end: u32): bool {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  if (!ensureQuery(scratch, root)) return false;
  for (let ordinal = from; ordinal < end; ordinal++) {
    if (!hasRow(root, ordinal)) continue;
    if (!ensureQuantized(quantizer, ordinal)) return false;
    encode(scratch, quantizer, root, ordinal);
  }
  return true;
}

function encode(scratch: usize, quantizer: usize, root: usize, ordinal: u32): void {
  const wide = setOperand(root, ordinal, operandIn(scratch, root));
  const along = queryTableIn(scratch, root);
  setAlong(quantizer, wide, along);
  const code = quantizedAt(quantizer, ordinal);
  const components = componentsOf(quantizer);
  const components4 = load<u32>(quantizer, QUANTIZER_COMPONENTS_4);
  memory.fill(code, 0, load<u32>(quantizer, QUANTIZER_ROW_BYTES));
  for (let component: u32 = 0; component < components; component++) {
    const bits: u32 = component < components4 ? 4 : 2;
    const lane =
      component < components4 ? laneOf(component, 4) : <usize>(components4 >> 1) + laneOf(component - components4, 2);
    const shift = component < components4 ? shiftIn(component, 4) : shiftIn(component - components4, 2);
    const half = <i32>(1 << (bits - 1));
    const level = <u32>(takeLevel(quantizer, along, component, half) + half);
    // The topmost level of a lane is signed, since lanes are signed.
    const signed = level ^ (shift + bits == 16 ? <u32>half : 0);
    store<u16>(code + lane, load<u16>(code + lane) | <u16>(signed << shift));
  }
}

/** Writes the row's offset from the mean along the component of each slot, as floats. */
function setAlong(quantizer: usize, wide: usize, along: usize): void {
  const bytes: usize = load<u32>(quantizer, QUANTIZER_WIDE_BYTES);
  const length = f32x4.splat(scaleOf(wide) * <f32>WIDE_SCALE);
  for (let slot: u32 = 0; slot < componentsOf(quantizer); slot += 4) {
    const products = f32x4.convert_i32x4_s(fourComponentDots(componentAt(quantizer, slot), wide, bytes));
    v128.store(
      along + ((<usize>slot) << 2),
      f32x4.sub(
        f32x4.mul(f32x4.mul(products, length), v128.load(unitAt(quantizer, slot))),
        v128.load(offsetAt(quantizer, slot)),
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
function takeLevel(quantizer: usize, along: usize, slot: u32, half: i32): i32 {
  const parent = load<u32>(quantizer, QUANTIZER_PARENTS) ? load<u32>(parentAt(quantizer, slot)) : NONE;
  const value = load<f32>(along + ((<usize>(parent == NONE ? slot : parent)) << 2));
  const step = load<f32>(stepAt(quantizer, slot));
  const level = step > 0 ? max(-half, min(half - 1, <i32>floor<f32>(value / step))) : 0;
  store<f32>(along + ((<usize>slot) << 2), value - (<f32>level + <f32>0.5) * step);
  return level;
}

/** Offset of the 16-bit lane of a slot. Each 16 bytes hold 8 lanes of 16 / `bits` slots. @inline */
function laneOf(component: u32, bits: u32): usize {
  return <usize>((component / (128 / bits)) << 4) + <usize>((component & 7) << 1);
}

/** @inline */
function shiftIn(component: u32, bits: u32): u32 {
  return ((component % (128 / bits)) >> 3) * bits;
}
