// Rows and graph nodes of an index, in blocks that never move (block-table.ts). Readers compute addresses with these
// functions on any thread; only the owner adds blocks.
import { NODE_WORDS_BYTES, ROW_WORDS_BYTES, TABLE_BYTES } from '../block-layout';
import {
  LEVEL_BITS,
  LEVEL_MAX,
  LINKS_0,
  LINKS_UP,
  NONE,
  ROOT_LINES,
  ROOT_NODE_TABLE,
  ROOT_ROW_BYTES,
  ROOT_ROW_TABLE,
  ROOT_SMALL_TABLE,
  ROOT_WIDE_BYTES,
} from '../layout';
import { allocate, linesOf } from './arena';
import { blockOf, enterBlock, enterTable, hasSlot, placeOf, shiftOf, slotOf } from './block-table';

/** Bytes of the level-0 list of a node, and of one upper level. */
const LIST_0_BYTES: usize = LINKS_0 << 2;
const LIST_UP_BYTES: usize = LINKS_UP << 2;
/** Beside a row's stamp: the next copy of its vector (copies.ts), and one by the length of its numbers. */
export const COPY: usize = 4;
export const SCALE: usize = 8;
/** Words of a node: the graph it is in, the row before it in a chain of copies. */
export const MARK: usize = 0;
export const BEFORE: usize = 4;
const BLOCK_BYTES_MAX: u64 = 0xffff0000;

/** The block of a row, or of a node, that is there. @inline */
function rowBlock(root: usize, ordinal: u32, shift: u32): usize {
  return load<u32>(<usize>load<u32>(root, ROOT_ROW_TABLE) + slotOf(ordinal, shift));
}

/** @inline */
function nodeBlock(root: usize, ordinal: u32, shift: u32): usize {
  return load<u32>(<usize>load<u32>(root, ROOT_NODE_TABLE) + slotOf(ordinal, shift));
}

/** Address of the row's vector. @inline */
export function vectorAt(root: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  return rowBlock(root, ordinal, shift) + placeOf(ordinal, shift) * load<u32>(root, ROOT_ROW_BYTES);
}

/** Address of the row's words, the stamp first. The words of a block stand together behind its vectors. @inline */
export function rowWordsAt(root: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  return (
    rowBlock(root, ordinal, shift) +
    ((<usize>load<u32>(root, ROOT_ROW_BYTES)) << shift) +
    placeOf(ordinal, shift) * ROW_WORDS_BYTES
  );
}

/** True for an index whose rows are of 8-bit numbers. @inline */
export function isNarrow(root: usize): bool {
  return load<u32>(root, ROOT_ROW_BYTES) != load<u32>(root, ROOT_WIDE_BYTES);
}

/** An odd stamp is a live row. @inline */
export function isLive(root: usize, ordinal: u32): bool {
  return (atomic.load<u32>(rowWordsAt(root, ordinal)) & 1) != 0;
}

/** Address of the node's words, which stand before the lists of its block. @inline */
export function nodeWordsAt(root: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  return nodeBlock(root, ordinal, shift) + placeOf(ordinal, shift) * NODE_WORDS_BYTES;
}

/** Address of the node's list of a level. Requires that it is of that level. @inline */
export function listAt(root: usize, ordinal: u32, level: u32): usize {
  const shift = shiftOf(ordinal);
  const lists = nodeBlock(root, ordinal, shift) + (NODE_WORDS_BYTES << shift);
  if (level == 0) return lists + placeOf(ordinal, shift) * LIST_0_BYTES;
  return lists + listsBelow(shift, level) + (placeOf(ordinal, shift) >> (level * LEVEL_BITS)) * LIST_UP_BYTES;
}

/**
 * Bytes of the lists of a block below an upper level: those of level 0, then of each level one for 16 nodes of the one
 * below, or one.
 */
function listsBelow(shift: u32, level: u32): usize {
  let bytes = LIST_0_BYTES << shift;
  for (let bits: u32 = LEVEL_BITS; bits < level * LEVEL_BITS; bits += LEVEL_BITS)
    bytes += LIST_UP_BYTES << (max(shift, bits) - bits);
  return bytes;
}

/** True when the row's block exists: a row that was never staged may have none. */
export function hasRow(root: usize, ordinal: u32): bool {
  return blockOf(root + ROOT_ROW_TABLE, root + ROOT_SMALL_TABLE, ordinal) != 0;
}

/** True when the block of the node's lists exists. @inline */
export function hasNode(root: usize, ordinal: u32): bool {
  return blockOf(root + ROOT_NODE_TABLE, 0, ordinal) != 0;
}

/** Makes the row's block, its words 0. False when memory is full. */
export function ensureRow(root: usize, ordinal: u32): bool {
  if (hasRow(root, ordinal)) return true;
  if (!ensureTable(root, root + ROOT_ROW_TABLE, root + ROOT_SMALL_TABLE, ordinal)) return false;
  const shift = shiftOf(ordinal);
  const vectorsBytes = (<u64>load<u32>(root, ROOT_ROW_BYTES)) << shift;
  const wordsBytes = (<u64>ROW_WORDS_BYTES) << shift;
  const block = addBlock(root, vectorsBytes + wordsBytes);
  if (!block) return false;
  memory.fill(block + <usize>vectorsBytes, 0, <usize>wordsBytes);
  enterBlock(root + ROOT_ROW_TABLE, ordinal, block);
  return true;
}

/** Makes the block of the node's lists, its lists empty, its words 0. False when memory is full. */
export function ensureNode(root: usize, ordinal: u32): bool {
  if (hasNode(root, ordinal)) return true;
  if (!ensureTable(root, root + ROOT_NODE_TABLE, 0, ordinal)) return false;
  const shift = shiftOf(ordinal);
  const wordsBytes: usize = NODE_WORDS_BYTES << shift;
  const listsBytes = listsBelow(shift, LEVEL_MAX + 1);
  const block = addBlock(root, <u64>wordsBytes + listsBytes);
  if (!block) return false;
  memory.fill(block, 0, wordsBytes);
  memory.fill(block + wordsBytes, <u8>NONE, listsBytes);
  enterBlock(root + ROOT_NODE_TABLE, ordinal, block);
  return true;
}

/** Makes a table with a word for the ordinal's block. False when memory is full. */
function ensureTable(root: usize, at: usize, small: usize, ordinal: u32): bool {
  if (hasSlot(at, small, ordinal)) return true;
  const table = addBlock(root, TABLE_BYTES);
  if (table) enterTable(at, small, table);
  return table != 0;
}

/**
 * Allocates and counts a block of the index; 0 when memory is full. A block of long rows can pass 32 bits, hence u64.
 */
export function addBlock(root: usize, bytes: u64): usize {
  const block = bytes < BLOCK_BYTES_MAX ? allocate(<usize>bytes) : 0;
  if (block) store<u32>(root, load<u32>(root, ROOT_LINES) + linesOf(block), ROOT_LINES);
  return block;
}
