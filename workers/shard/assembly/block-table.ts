// The tables of the blocks that rows, graph nodes, codes and priorities stand in: a word for each block, found from the
// ordinal's leading bits. Small indexes, of which there are thousands, have a table of 32 words in their root; from
// FINE_PLACE - FIRST_ROWS rows on one of 544 takes its place, so that blocks of many rows are fine. The small one stays
// as it is: who has its address still finds the rows it knew of. Readers compute addresses with these functions on any
// thread; only the owner adds blocks and tables.
import { FINE_PLACE, FIRST_ROWS, SMALL_TABLE_BYTES, TABLE_BYTES } from '../block-layout';
import { retire } from './epochs';

/** Rows that a small table has words for. */
const SMALL_ROWS: u32 = FINE_PLACE - FIRST_ROWS;

/**
 * log2 of the rows in the block that holds `ordinal`: a quarter of the largest power of two that is not above its
 * place, or a thirty-second.
 * @inline
 */
export function shiftOf(ordinal: u32): u32 {
  const place = ordinal + FIRST_ROWS;
  return 29 - clz(place) - select<u32>(3, 0, place >= <u32>FINE_PLACE);
}

/** Offset of the block's address in a table. @inline */
export function slotOf(ordinal: u32, shift: u32): usize {
  const place = ordinal + FIRST_ROWS;
  const coarse = ((shift - 2) << 2) - 4;
  const fine = (shift - 7) << 5;
  return (<usize>(select<u32>(fine, coarse, place >= <u32>FINE_PLACE) + (place >> shift))) << 2;
}

/** @inline */
export function placeOf(ordinal: u32, shift: u32): usize {
  return <usize>((ordinal + FIRST_ROWS) & ((1 << shift) - 1));
}

/**
 * Number of rows in the block of `ordinal` from it to the block's end: rows that stand side by side in memory.
 * @inline
 */
export function rowsToBlockEnd(ordinal: u32): u32 {
  const shift = shiftOf(ordinal);
  return (1 << shift) - <u32>placeOf(ordinal, shift);
}

/**
 * True when the table whose address stands at `at`, 0 for none, has a word for the ordinal's block. `small` is the
 * address of the owner's small table, or 0.
 * @inline
 */
export function hasSlot(at: usize, small: usize, ordinal: u32): bool {
  const table: usize = atomic.load<u32>(at);
  return table != 0 && (table != small || ordinal < SMALL_ROWS);
}

/** Address of the ordinal's block; 0 where there is none. @inline */
export function blockOf(at: usize, small: usize, ordinal: u32): usize {
  return hasSlot(at, small, ordinal)
    ? <usize>atomic.load<u32>(<usize>load<u32>(at) + slotOf(ordinal, shiftOf(ordinal)))
    : 0;
}

/** Puts `table`, TABLE_BYTES of new memory, in the place of the small one or of none. */
export function enterTable(at: usize, small: usize, table: usize): void {
  memory.fill(table, 0, TABLE_BYTES);
  if (small) memory.copy(table, small, SMALL_TABLE_BYTES);
  atomic.store<u32>(at, <u32>table);
}

/** Requires the word for it. */
export function enterBlock(at: usize, ordinal: u32, block: usize): void {
  atomic.store<u32>(<usize>load<u32>(at) + slotOf(ordinal, shiftOf(ordinal)), <u32>block);
}

/** Retires all blocks of a table, and the table where it is not the small one, which goes with its owner. */
export function dropTable(at: usize, small: usize): void {
  const table: usize = load<u32>(at);
  if (!table) return;
  const end = table + (table == small ? SMALL_TABLE_BYTES : TABLE_BYTES);
  for (let slot = table; slot < end; slot += 4) retire(load<u32>(slot));
  if (table != small) retire(table);
}
