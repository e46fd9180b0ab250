// The memory of an index's quantized vectors: a root block, and blocks parallel to the row blocks of the index, found
// in the same way. Blocks never move. Only the owner creates and fills them; any thread reads.
import {
  FIRST_ROWS,
  QUANTIZER_COMPONENTS,
  QUANTIZER_COMPONENTS_2,
  QUANTIZER_COMPONENTS_4,
  QUANTIZER_LINES,
  QUANTIZER_ORIGINS,
  QUANTIZER_PARENTS,
  QUANTIZER_ROW_BLOCKS,
  QUANTIZER_ROW_BYTES,
  QUANTIZER_STEPS,
  QUANTIZER_WIDE_BYTES,
} from '../../memory/layout';
import { allocateCounted, placeOf, shiftOf, slotOf } from '../memory/row-blocks';

/**
 * The number of the thirty-second in which the place of ordinal 0 lies. That place is 16, and the upper bits of 16 as a
 * float64 are its exponent and a zero fraction.
 */
const FIRST_THIRTY_SECOND: usize = (1023 + 4) << 5;

/** @inline */
export function componentsOf(quantizer: usize): u32 {
  return load<u32>(quantizer, QUANTIZER_COMPONENTS_4) + load<u32>(quantizer, QUANTIZER_COMPONENTS_2);
}

/** Address of the 16-bit numbers of a slot's principal component. @inline */
export function componentAt(quantizer: usize, component: u32): usize {
  return (
    <usize>load<u32>(quantizer, QUANTIZER_COMPONENTS) +
    <usize>component * <usize>load<u32>(quantizer, QUANTIZER_WIDE_BYTES)
  );
}

/** Address of the unit of a slot. The arrays of steps, offsets and variances follow that of the units. @inline */
export function unitAt(quantizer: usize, component: u32): usize {
  return <usize>load<u32>(quantizer, QUANTIZER_STEPS) + ((<usize>component) << 2);
}

/** @inline */
export function stepAt(quantizer: usize, component: u32): usize {
  return unitAt(quantizer, component + componentsOf(quantizer));
}

/** @inline */
export function offsetAt(quantizer: usize, component: u32): usize {
  return unitAt(quantizer, component + 2 * componentsOf(quantizer));
}

/** @inline */
export function varianceAt(quantizer: usize, component: u32): usize {
  return unitAt(quantizer, component + 3 * componentsOf(quantizer));
}

/** Address of the slot that a slot refines, or NONE. Quantized vectors of older builds have no such array. @inline */
export function parentAt(quantizer: usize, slot: u32): usize {
  return <usize>load<u32>(quantizer, QUANTIZER_PARENTS) + ((<usize>slot) << 2);
}

/**
 * Address of the row's quantized vector. Requires that its block exists. Graph searches call this more than any other
 * function, so it takes one load and one product: the uppermost bits of a place as a float64 give its doubling and the
 * thirty-second of it, and a whole thirty-second is in one block.
 * @inline
 */
export function quantizedAt(quantizer: usize, ordinal: u32): usize {
  return (
    <usize>load<u32>(quantizer + originOf(ordinal), QUANTIZER_ORIGINS) +
    <usize>ordinal * <usize>load<u32>(quantizer, QUANTIZER_ROW_BYTES)
  );
}

/** Offset of the word for the ordinal's thirty-second. @inline */
function originOf(ordinal: u32): usize {
  return (<usize>(reinterpret<u64>(<f64>(ordinal + FIRST_ROWS)) >> 47) - FIRST_THIRTY_SECOND) << 2;
}

/** Creates the block for the row if needed. False when memory is full. */
export function ensureQuantized(quantizer: usize, ordinal: u32): bool {
  const shift = shiftOf(ordinal);
  const slot = quantizer + slotOf(ordinal, shift);
  if (load<u32>(slot, QUANTIZER_ROW_BLOCKS)) return true;
  const rowBytes = load<u32>(quantizer, QUANTIZER_ROW_BYTES);
  const block = addQuantizedBlock(quantizer, (<u64>rowBytes) << shift);
  atomic.store<u32>(slot, <u32>block, QUANTIZER_ROW_BLOCKS);
  if (!block) return false;
  const first = ordinal - <u32>placeOf(ordinal, shift);
  const last = first + ((1 << shift) - 1);
  for (let at = originOf(first); at <= originOf(last); at += 4)
    atomic.store<u32>(quantizer + at, <u32>block - first * rowBytes, QUANTIZER_ORIGINS);
  return true;
}

/**
 * Allocates a zeroed block and counts its lines; 0 when memory is full. Zeros are a valid quantized vector until the
 * row's own is written.
 */
export function addQuantizedBlock(quantizer: usize, bytes: u64): usize {
  const block = allocateCounted(quantizer, QUANTIZER_LINES, bytes);
  if (block) memory.fill(block, 0, <usize>bytes);
  return block;
}
