// How much the blocks of an index's rows take: from the table of its root, as assembly/rows.ts lays it out, four blocks to each
// doubling. Used by VectorIndex, on any thread that may read the root.
import type { Instance } from './instance.js';
import { ROOT_NODE_BLOCKS, ROOT_ROW_BLOCKS, ROOT_ROW_BYTES, ROW_WORDS_BYTES } from './layout.js';

/** Rows in the smallest blocks, as a power of two, and blocks of each size. */
const FIRST_SHIFT = 2;
const BLOCKS_A_SIZE = 4;

export function rowBlockBytes(instance: Instance, root: number): number {
  const rowBytes = instance.word(root + ROOT_ROW_BYTES) + ROW_WORDS_BYTES;
  let bytes = 0;
  for (let slot = 0; slot < (ROOT_NODE_BLOCKS - ROOT_ROW_BLOCKS) / 4; slot++) {
    if (instance.word(root + ROOT_ROW_BLOCKS + 4 * slot) !== 0) bytes += rowBytes * 2 ** (FIRST_SHIFT + Math.floor(slot / BLOCKS_A_SIZE));
  }
  return bytes;
}
