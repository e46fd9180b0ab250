// Where the blocks of an index's rows stand, and what they take: from the table that its root names, as
// assembly/block-table.ts lays it out. Used by the base of VectorIndex, on any thread that may read the root, and by
// tests of the graph.
import type { Instance } from './instance.js';
import { FINE_PLACE, FIRST_ROWS, ROW_WORDS_BYTES, SMALL_TABLE_BYTES, TABLE_BYTES } from './block-layout.js';
import { ROOT_ROW_BYTES, ROOT_ROW_TABLE, ROOT_SMALL_TABLE } from './layout.js';

export interface RowPlace {
  /** Offset of the block's address in a table. */
  readonly slot: number;
  /** Rows of the block. */
  readonly rows: number;
  /** Which of them it is. */
  readonly row: number;
}

/** Four blocks to each doubling, the first of four rows; from FINE_PLACE on thirty-two. */
export function placeOf(ordinal: number): RowPlace {
  const place = ordinal + FIRST_ROWS;
  const isFine = place >= FINE_PLACE;
  const shift = 29 - Math.clz32(place) - (isFine ? 3 : 0);
  const before = isFine ? (shift - 7) * 32 : (shift - 2) * 4 - 4;
  const rows = 1 << shift;
  return { slot: 4 * (before + (place >>> shift)), rows, row: place & (rows - 1) };
}

/** Rows of the block whose address stands at an offset of a table. */
export function blockRows(slot: number): number {
  return 2 ** (slot < SMALL_TABLE_BYTES ? 2 + (slot >>> 4) : 7 + ((slot - SMALL_TABLE_BYTES) >>> 7));
}

/** Address of the block that holds a row; 0 where there is none. */
export function rowBlock(instance: Instance, root: number, { slot }: RowPlace): number {
  return slot < tableBytes(instance, root) ? instance.word(instance.word(root + ROOT_ROW_TABLE) + slot) : 0;
}

/** Bytes of all blocks of rows. */
export function rowBlockBytes(instance: Instance, root: number): number {
  const rowBytes = instance.word(root + ROOT_ROW_BYTES) + ROW_WORDS_BYTES;
  const table = instance.word(root + ROOT_ROW_TABLE);
  let bytes = 0;
  for (let slot = 0; slot < tableBytes(instance, root); slot += 4)
    if (instance.word(table + slot) !== 0) bytes += rowBytes * blockRows(slot);
  return bytes;
}

function tableBytes(instance: Instance, root: number): number {
  return instance.word(root + ROOT_ROW_TABLE) === root + ROOT_SMALL_TABLE ? SMALL_TABLE_BYTES : TABLE_BYTES;
}
