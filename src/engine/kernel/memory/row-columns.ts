// Columns of a segment's rows: their priorities, and the seconds in which they expire. A column has a float64 by ordinal,
// in blocks of the same sizes as row blocks, which never move; 0 stands for no value. The owner writes a value before it
// publishes the row and clears it after it has removed the row; any thread reads.
import {
  FULL,
  OK,
  COLUMN_BYTES,
  COLUMN_COUNT,
  COLUMN_END,
  COLUMN_SMALL_TABLE,
  COLUMN_TABLE,
  SCRATCH_OUTPUT,
  TABLE_BYTES,
} from '../../memory/layout';
import { allocate } from './arena';
import { blockOf, dropTable, enterBlock, enterTable, hasSlot, placeOf, shiftOf } from './row-blocks';
import { retire } from './epochs';
import { areaAt, ensureArea } from './scratch';

/** Creates a column in which every value is 0. Returns its address, or 0 when memory is full. Owner only. */
export function createColumn(): usize {
  const root = allocate(COLUMN_BYTES);
  if (!root) return 0;
  memory.fill(root, 0, COLUMN_BYTES);
  store<u32>(root, <u32>root + COLUMN_SMALL_TABLE, COLUMN_TABLE);
  return root;
}

/** Retires a column. Requires that no shared address leads to it any more. Owner only. */
export function dropColumn(root: usize): void {
  dropTable(root + COLUMN_TABLE, root + COLUMN_SMALL_TABLE);
  retire(root);
}

/**
 * Makes room for the value of a row, so that `setValue` cannot fail. FULL, with nothing changed, when memory is
 * full. Owner only.
 */
export function reserveValue(root: usize, ordinal: u32): i32 {
  if (valueBlock(root, ordinal)) return OK;
  if (!hasSlot(root + COLUMN_TABLE, root + COLUMN_SMALL_TABLE, ordinal)) {
    const table = allocate(TABLE_BYTES);
    if (!table) return FULL;
    enterTable(root + COLUMN_TABLE, root + COLUMN_SMALL_TABLE, table);
  }
  const shift = shiftOf(ordinal);
  const block = allocate((<usize>8) << shift);
  if (!block) return FULL;
  memory.fill(block, 0, (<usize>8) << shift);
  enterBlock(root + COLUMN_TABLE, ordinal, block);
  return OK;
}

/** Sets the value of a row. Requires `reserveValue`. Owner only. */
export function setValue(root: usize, ordinal: u32, value: f64): void {
  const at = valueBlock(root, ordinal) + (placeOf(ordinal, shiftOf(ordinal)) << 3);
  const before = load<f64>(at);
  if (ordinal >= load<u32>(root, COLUMN_END)) atomic.store<u32>(root, ordinal + 1, COLUMN_END);
  atomic.store<u64>(at, reinterpret<u64>(value));
  const count = load<u32>(root, COLUMN_COUNT) + u32(value != 0) - u32(before != 0);
  atomic.store<u32>(root, count, COLUMN_COUNT);
}

/** The value of a row; 0 if it has none. */
export function valueOf(root: usize, ordinal: u32): f64 {
  const block = valueBlock(root, ordinal);
  return block ? reinterpret<f64>(atomic.load<u64>(block + (placeOf(ordinal, shiftOf(ordinal)) << 3))) : 0;
}

/**
 * Writes a bitmap of the rows whose value is not 0, and at most `limit`, to the output area. Returns its number of 32-bit
 * words, or FULL.
 */
export function findValued(scratch: usize, root: usize, limit: f64): i32 {
  const words = (atomic.load<u32>(root, COLUMN_END) + 31) >> 5;
  if (!ensureArea(scratch, SCRATCH_OUTPUT, (<usize>words) << 2)) return FULL;
  for (let word: u32 = 0; word < words; word++)
    store<u32>(areaAt(scratch, SCRATCH_OUTPUT) + ((<usize>word) << 2), bitsOf(root, word << 5, limit));
  return words;
}

/** The bitmap word for 32 rows from `from` on, block by block. */
function bitsOf(root: usize, from: u32, limit: f64): u32 {
  let bits: u32 = 0;
  for (let i: u32 = 0; i < 32; ) {
    const ordinal = from + i;
    const shift = shiftOf(ordinal);
    const place = <u32>placeOf(ordinal, shift);
    const rows = min<u32>(32 - i, (1 << shift) - place);
    const block = valueBlock(root, ordinal);
    if (block)
      for (let row: u32 = 0; row < rows; row++) {
        const value = load<f64>(block + ((<usize>(place + row)) << 3));
        bits |= u32(value != 0 && value <= limit) << (i + row);
      }
    i += rows;
  }
  return bits;
}

/** @inline */
function valueBlock(root: usize, ordinal: u32): usize {
  return blockOf(root + COLUMN_TABLE, root + COLUMN_SMALL_TABLE, ordinal);
}
