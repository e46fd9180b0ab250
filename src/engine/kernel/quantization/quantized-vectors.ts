// The codes of an index: a root block of their own, and blocks of codes beside the rows of the index, found in the same
// way. The walk reads them alone. Only the owner makes and fills them; a block never moves.
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

/** That of the place of ordinal 0: the exponent of 16 as a float, and none of its doubling. */
const FIRST_THIRTY_SECOND: usize = (1023 + 4) << 5;

/** @inline */
export function axesOf(codes: usize): u32 {
  return load<u32>(codes, CODES_AXES_4) + load<u32>(codes, CODES_AXES_2);
}

/** Address of the 16-bit numbers of an axis. @inline */
export function axisAt(codes: usize, axis: u32): usize {
  return <usize>load<u32>(codes, CODES_AXES) + <usize>axis * <usize>load<u32>(codes, CODES_WIDE_BYTES);
}

/** Addresses of what is known of an axis; the arrays stand one after another. @inline */
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

/** Address of the slot that a slot refines, or NONE. Not in codes of older builds. @inline */
export function parentAt(codes: usize, slot: u32): usize {
  return <usize>load<u32>(codes, CODES_PARENTS) + ((<usize>slot) << 2);
}

/**
 * Address of the row's code. Requires that its block has been made. A walk asks for it more than for anything else, so
 * it is one word and a product: the uppermost bits of a place as a float are its doubling and the thirty-second of it,
 * and all of a thirty-second is in one block.
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

/** Makes the row's block. False when memory is full. */
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

/** Allocates and counts a block; 0 when memory is full. A code that is not written yet is some code. */
export function addCodesBlock(codes: usize, bytes: u64): usize {
  const block = allocateCounted(codes, CODES_LINES, bytes);
  if (block) memory.fill(block, 0, <usize>bytes);
  return block;
}
