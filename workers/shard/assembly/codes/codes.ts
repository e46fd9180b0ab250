// The codes of an index: a root block of their own, and blocks of rows beside those of the index, found in the same way. Two rows
// for each of the index: its code, which the walk reads, and its 16-bit numbers, by which the best are scored again. Only the
// owner makes and fills them; a block never moves.
import { ROOT_DIM } from '../../layout';
import {
  CODES_AXES, CODES_AXES_2, CODES_AXES_4, CODES_BYTES, CODES_DIM, CODES_LINES, CODES_ROW_BLOCKS, CODES_ROW_BYTES, CODES_STEPS,
  CODES_WIDE_BLOCKS, CODES_WIDE_BYTES, CODES_WORK, WIDE_NUMBERS,
} from '../../codes/layout';
import { allocate, linesOf, release } from '../arena';
import { placeOf, shiftOf, slotOf } from '../rows';

const TABLE_WORDS: usize = 96;
const BLOCK_BYTES_MAX: u64 = 0xffff0000;

/** Makes codes without rows for an index, of `axes4` axes at 4 bits (a multiple of 32) and `axes2` at 2 (of 64). 0 when memory is full. */
export function createCodes(root: usize, axes4: u32, axes2: u32): usize {
  const dim = load<u32>(root, ROOT_DIM);
  const wideBytes = ((dim + WIDE_NUMBERS - 1) / WIDE_NUMBERS) * WIDE_NUMBERS * 2;
  const codes = allocate(CODES_BYTES);
  if (!codes) return 0;
  memory.fill(codes, 0, CODES_BYTES);
  store<u32>(codes, dim, CODES_DIM);
  store<u32>(codes, axes4, CODES_AXES_4);
  store<u32>(codes, axes2, CODES_AXES_2);
  store<u32>(codes, (axes4 >> 1) + (axes2 >> 2), CODES_ROW_BYTES);
  store<u32>(codes, wideBytes, CODES_WIDE_BYTES);
  store<u32>(codes, linesOf(codes), CODES_LINES);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>(wideBytes >> 1) * (axes4 + axes2)), CODES_AXES);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>16 * (axes4 + axes2)), CODES_STEPS);
  if (load<u32>(codes, CODES_AXES) && load<u32>(codes, CODES_STEPS)) return codes;
  dropCodes(codes);
  return 0;
}

export function dropCodes(codes: usize): void {
  for (let slot: usize = 0; slot < TABLE_WORDS; slot++) {
    release(load<u32>(codes + (slot << 2), CODES_ROW_BLOCKS));
    release(load<u32>(codes + (slot << 2), CODES_WIDE_BLOCKS));
  }
  release(load<u32>(codes, CODES_AXES));
  release(load<u32>(codes, CODES_STEPS));
  release(load<u32>(codes, CODES_WORK));
  release(codes);
}

@inline export function axesOf(codes: usize): u32 {
  return load<u32>(codes, CODES_AXES_4) + load<u32>(codes, CODES_AXES_2);
}

/** Address of the 8-bit numbers of an axis. */
@inline export function axisAt(codes: usize, axis: u32): usize {
  return <usize>load<u32>(codes, CODES_AXES) + <usize>axis * <usize>(load<u32>(codes, CODES_WIDE_BYTES) >> 1);
}

/** Addresses of what is known of an axis; the arrays stand one after another. */
@inline export function unitAt(codes: usize, axis: u32): usize {
  return <usize>load<u32>(codes, CODES_STEPS) + (<usize>axis << 2);
}

@inline export function stepAt(codes: usize, axis: u32): usize {
  return unitAt(codes, axis + axesOf(codes));
}

@inline export function offsetAt(codes: usize, axis: u32): usize {
  return unitAt(codes, axis + 2 * axesOf(codes));
}

@inline export function varianceAt(codes: usize, axis: u32): usize {
  return unitAt(codes, axis + 3 * axesOf(codes));
}

/** Address of the row's code. */
@inline export function codeAt(codes: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  return <usize>load<u32>(codes + slotOf(ordinal, shift), CODES_ROW_BLOCKS) + placeOf(ordinal, shift) * load<u32>(codes, CODES_ROW_BYTES);
}

/** Address of the row's 16-bit numbers. */
@inline export function wideAt(codes: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  return <usize>load<u32>(codes + slotOf(ordinal, shift), CODES_WIDE_BLOCKS) + placeOf(ordinal, shift) * load<u32>(codes, CODES_WIDE_BYTES);
}

/** Makes the row's blocks. False when memory is full. */
export function ensureCode(codes: usize, ordinal: u32): bool {
  const shift = shiftOf(ordinal);
  const slot = codes + slotOf(ordinal, shift);
  if (!load<u32>(slot, CODES_ROW_BLOCKS)) atomic.store<u32>(slot, <u32>addCodesBlock(codes, <u64>load<u32>(codes, CODES_ROW_BYTES) << shift), CODES_ROW_BLOCKS);
  if (!load<u32>(slot, CODES_WIDE_BLOCKS)) atomic.store<u32>(slot, <u32>addCodesBlock(codes, <u64>load<u32>(codes, CODES_WIDE_BYTES) << shift), CODES_WIDE_BLOCKS);
  return load<u32>(slot, CODES_ROW_BLOCKS) != 0 && load<u32>(slot, CODES_WIDE_BLOCKS) != 0;
}

/** Allocates and counts a block; 0 when memory is full. A code that is not written yet is some code. */
export function addCodesBlock(codes: usize, bytes: u64): usize {
  const block = bytes < BLOCK_BYTES_MAX ? allocate(<usize>bytes) : 0;
  if (!block) return 0;
  memory.fill(block, 0, <usize>bytes);
  store<u32>(codes, load<u32>(codes, CODES_LINES) + linesOf(block), CODES_LINES);
  return block;
}
