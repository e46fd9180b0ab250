// The memory of an index's quantized vectors: a root block, and blocks parallel to the row blocks of the index, found
// in the same way. Blocks never move. Only the owner creates and fills them; any thread reads.
import {
  CODES_AXES,
  CODES_AXES_2,
  CODES_AXES_4,
  CODES_LINES,
  CODES_ORIGINS,
  CODES_PARENTS,
  CODES_ROW_BLOCKS,
  CODES_ROW_BYTES,
  CODES_STEPS,
  CODES_WIDE_BYTES,
  FIRST_ROWS,
} from '../../memory/layout';
import { allocateCounted, placeOf, shiftOf, slotOf } from '../memory/row-blocks';

/**
 * The number of the thirty-second in which the place of ordinal 0 lies. That place is 16, and the upper bits of 16 as a
 * float64 are its exponent and a zero fraction.
 */
const FIRST_THIRTY_SECOND: usize = (1023 + 4) << 5;

/** @inline */
export function axesOf(codes: usize): u32 {
  return load<u32>(codes, CODES_AXES_4) + load<u32>(codes, CODES_AXES_2);
}

/** Address of the 16-bit numbers of a slot's principal component. @inline */
export function axisAt(codes: usize, axis: u32): usize {
  return <usize>load<u32>(codes, CODES_AXES) + <usize>axis * <usize>load<u32>(codes, CODES_WIDE_BYTES);
}

/** Address of the unit of a slot. The arrays of steps, offsets and variances follow that of the units. @inline */
export function unitAt(codes: usize, axis: u32): usize {
  return <usize>load<u32>(codes, CODES_STEPS) + ((<usize>axis) << 2);
}

/** @inline */
export function stepAt(codes: usize, axis: u32): usize {
  return unitAt(codes, axis + axesOf(codes));
}

/** @inline */
export function offsetAt(codes: usize, axis: u32): usize {
  return unitAt(codes, axis + 2 * axesOf(codes));
}

/** @inline */
export function varianceAt(codes: usize, axis: u32): usize {
  return unitAt(codes, axis + 3 * axesOf(codes));
}

/** Address of the slot that a slot refines, or NONE. Quantized vectors of older builds have no such array. @inline */
export function parentAt(codes: usize, slot: u32): usize {
  return <usize>load<u32>(codes, CODES_PARENTS) + ((<usize>slot) << 2);
}

/**
 * Address of the row's quantized vector. Requires that its block exists. Graph searches call this more than any other
 * function, so it takes one load and one product: the uppermost bits of a place as a float64 give its doubling and the
 * thirty-second of it, and a whole thirty-second is in one block.
 * @inline
 */
export function codeAt(codes: usize, ordinal: u32): usize {
  return (
    <usize>load<u32>(codes + originOf(ordinal), CODES_ORIGINS) +
    <usize>ordinal * <usize>load<u32>(codes, CODES_ROW_BYTES)
  );
}

/** Offset of the word for the ordinal's thirty-second. @inline */
function originOf(ordinal: u32): usize {
  return (<usize>(reinterpret<u64>(<f64>(ordinal + FIRST_ROWS)) >> 47) - FIRST_THIRTY_SECOND) << 2;
}

/** Creates the block for the row if needed. False when memory is full. */
export function ensureCode(codes: usize, ordinal: u32): bool {
  const shift = shiftOf(ordinal);
  const slot = codes + slotOf(ordinal, shift);
  if (load<u32>(slot, CODES_ROW_BLOCKS)) return true;
  const rowBytes = load<u32>(codes, CODES_ROW_BYTES);
  const block = addCodesBlock(codes, (<u64>rowBytes) << shift);
  atomic.store<u32>(slot, <u32>block, CODES_ROW_BLOCKS);
  if (!block) return false;
  const first = ordinal - <u32>placeOf(ordinal, shift);
  const last = first + ((1 << shift) - 1);
  for (let at = originOf(first); at <= originOf(last); at += 4)
    atomic.store<u32>(codes + at, <u32>block - first * rowBytes, CODES_ORIGINS);
  return true;
}

/**
 * Allocates a zeroed block and counts its lines; 0 when memory is full. Zeros are a valid quantized vector until the
 * row's own is written.
 */
export function addCodesBlock(codes: usize, bytes: u64): usize {
  const block = allocateCounted(codes, CODES_LINES, bytes);
  if (block) memory.fill(block, 0, <usize>bytes);
  return block;
}
