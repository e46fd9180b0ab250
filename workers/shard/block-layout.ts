// The blocks that rows and graph nodes stand in, and the tables that say where: plain numbers for both compilers, as
// layout.ts. Offsets and sizes are bytes. assembly/block-table.ts and row-blocks.ts compute places with them.

// Blocks of rows: four of equal size to each doubling, the first four of 4 rows, so at most a quarter stands empty;
// beyond FINE_PLACE - FIRST_ROWS rows thirty-two to each doubling, so at most a thirty-second does. A small table has
// words for the former alone.
export const FIRST_ROWS = 16;
export const FINE_PLACE = 4096;
export const SMALL_TABLE_BYTES = 128;
export const TABLE_BYTES = 2176;
/**
 * Words of a row, behind the vectors of its block: the stamp, the ordinal + 1 of the next copy of its vector, one by
 * the length of its numbers.
 */
export const ROW_WORDS_BYTES = 12;
/** Words of a node, before the lists of its block: mark, ordinal + 1 of the row before it in a chain of copies. */
export const NODE_WORDS_BYTES = 8;
