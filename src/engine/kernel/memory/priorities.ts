// The priorities of a segment's chunks: a column of float64 by ordinal, in blocks of the same sizes as row blocks,
// which never move. 0 means no priority. The owner writes a priority before it publishes the row and clears it after it
// has removed the row; any thread reads.
import {
  FULL,
  OK,
  PRIORITIES_BYTES,
  PRIORITIES_COUNT,
  PRIORITIES_END,
  PRIORITIES_SMALL_TABLE,
  PRIORITIES_TABLE,
  SCRATCH_OUTPUT,
  TABLE_BYTES,
} from '../../memory/layout';
import { allocate } from './arena';
import { blockOf, dropTable, enterBlock, enterTable, hasSlot, placeOf, shiftOf } from './row-blocks';
import { retire } from './epochs';
import { areaAt, ensureArea } from './scratch';

/** Creates a column in which every priority is 0. Returns its address, or 0 when memory is full. Owner only. */
export function createPriorities(): usize {
  const root = allocate(PRIORITIES_BYTES);
  if (!root) return 0;
  memory.fill(root, 0, PRIORITIES_BYTES);
  store<u32>(root, <u32>root + PRIORITIES_SMALL_TABLE, PRIORITIES_TABLE);
  return root;
}

/** Retires a column. Requires that no shared address leads to it any more. Owner only. */
export function dropPriorities(root: usize): void {
  dropTable(root + PRIORITIES_TABLE, root + PRIORITIES_SMALL_TABLE);
  retire(root);
}

/**
 * Makes room for the priority of a row, so that `setPriority` cannot fail. FULL, with nothing changed, when memory is
 * full. Owner only.
 */
export function reservePriority(root: usize, ordinal: u32): i32 {
  if (priorityBlock(root, ordinal)) return OK;
  if (!hasSlot(root + PRIORITIES_TABLE, root + PRIORITIES_SMALL_TABLE, ordinal)) {
    const table = allocate(TABLE_BYTES);
    if (!table) return FULL;
    enterTable(root + PRIORITIES_TABLE, root + PRIORITIES_SMALL_TABLE, table);
  }
  const shift = shiftOf(ordinal);
  const block = allocate((<usize>8) << shift);
  if (!block) return FULL;
  memory.fill(block, 0, (<usize>8) << shift);
  enterBlock(root + PRIORITIES_TABLE, ordinal, block);
  return OK;
}

/** Sets the priority of a row. Requires `reservePriority`. Owner only. */
export function setPriority(root: usize, ordinal: u32, priority: f64): void {
  const at = priorityBlock(root, ordinal) + (placeOf(ordinal, shiftOf(ordinal)) << 3);
  const before = load<f64>(at);
  if (ordinal >= load<u32>(root, PRIORITIES_END)) atomic.store<u32>(root, ordinal + 1, PRIORITIES_END);
  atomic.store<u64>(at, reinterpret<u64>(priority));
  const count = load<u32>(root, PRIORITIES_COUNT) + u32(priority != 0) - u32(before != 0);
  atomic.store<u32>(root, count, PRIORITIES_COUNT);
}

/** The priority of a row; 0 if it has none. */
export function priorityOf(root: usize, ordinal: u32): f64 {
  const block = priorityBlock(root, ordinal);
  return block ? reinterpret<f64>(atomic.load<u64>(block + (placeOf(ordinal, shiftOf(ordinal)) << 3))) : 0;
}

/** Writes a bitmap of the rows that have a priority to the output area. Returns its number of 32-bit words, or FULL. */
export function findPrioritized(scratch: usize, root: usize): i32 {
  const words = (atomic.load<u32>(root, PRIORITIES_END) + 31) >> 5;
  if (!ensureArea(scratch, SCRATCH_OUTPUT, (<usize>words) << 2)) return FULL;
  for (let word: u32 = 0; word < words; word++)
    store<u32>(areaAt(scratch, SCRATCH_OUTPUT) + ((<usize>word) << 2), bitsOf(root, word << 5));
  return words;
}

/** The bitmap word for 32 rows from `from` on, block by block. */
function bitsOf(root: usize, from: u32): u32 {
  let bits: u32 = 0;
  for (let i: u32 = 0; i < 32; ) {
    const ordinal = from + i;
    const shift = shiftOf(ordinal);
    const place = <u32>placeOf(ordinal, shift);
    const rows = min<u32>(32 - i, (1 << shift) - place);
    const block = priorityBlock(root, ordinal);
    if (block)
      for (let row: u32 = 0; row < rows; row++)
        bits |= u32(load<f64>(block + ((<usize>(place + row)) << 3)) != 0) << (i + row);
    i += rows;
  }
  return bits;
}

/** @inline */
function priorityBlock(root: usize, ordinal: u32): usize {
  return blockOf(root + PRIORITIES_TABLE, root + PRIORITIES_SMALL_TABLE, ordinal);
}
