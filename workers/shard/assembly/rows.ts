// Rows and graph nodes of an index, in blocks that never move: four blocks to each doubling of the row count, found from the
// ordinal's leading bits. Readers compute addresses with these functions on any thread; only the owner adds blocks.
import {
  FIRST_ROWS, LINKS_0, LINKS_UP, NODE_WORDS_BYTES, NONE, ROOT_LINES, ROOT_NODE_BLOCKS, ROOT_ROW_BLOCKS, ROOT_ROW_BYTES, ROOT_WIDE_BYTES,
  ROW_WORDS_BYTES,
} from '../layout';
import { allocate, linesOf } from './arena';

/** Bytes of the level-0 list of a node, and of one upper level. */
export const LIST_0_BYTES: usize = LINKS_0 << 2;
export const LIST_UP_BYTES: usize = LINKS_UP << 2;
/** Beside a row's stamp: the next copy of its vector (copies.ts), and one by the length of its numbers. */
export const COPY: usize = 4;
export const SCALE: usize = 8;
/** Words of a node: the graph it is in, the address of its upper lists, the row before it in a chain of copies. */
export const MARK: usize = 0;
export const UPPER: usize = 4;
export const BEFORE: usize = 8;
const BLOCK_BYTES_MAX: u64 = 0xffff0000;

/** log2 of the rows in the block that holds `ordinal`. */
@inline export function shiftOf(ordinal: u32): u32 {
  return 29 - clz(ordinal + FIRST_ROWS);
}

/** Offset of the block's address in a table of the root. */
@inline export function slotOf(ordinal: u32, shift: u32): usize {
  return <usize>(((shift - 2) << 2) + ((ordinal + FIRST_ROWS) >> shift) - 4) << 2;
}

@inline export function placeOf(ordinal: u32, shift: u32): usize {
  return <usize>((ordinal + FIRST_ROWS) & ((1 << shift) - 1));
}

/** Address of the row's vector. */
@inline export function vectorAt(root: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  const block: usize = load<u32>(root + slotOf(ordinal, shift), ROOT_ROW_BLOCKS);
  return block + placeOf(ordinal, shift) * load<u32>(root, ROOT_ROW_BYTES);
}

/** Address of the row's words, the stamp first. The words of a block stand together behind its vectors. */
@inline export function rowWordsAt(root: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  const block: usize = load<u32>(root + slotOf(ordinal, shift), ROOT_ROW_BLOCKS);
  return block + (<usize>load<u32>(root, ROOT_ROW_BYTES) << shift) + placeOf(ordinal, shift) * ROW_WORDS_BYTES;
}

/** True for an index whose rows are of 8-bit numbers. */
@inline export function isNarrow(root: usize): bool {
  return load<u32>(root, ROOT_ROW_BYTES) != load<u32>(root, ROOT_WIDE_BYTES);
}

/** An odd stamp is a live row. */
@inline export function isLive(root: usize, ordinal: u32): bool {
  return (atomic.load<u32>(rowWordsAt(root, ordinal)) & 1) != 0;
}

/** Address of the node's level-0 list. */
@inline function list0At(root: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  return <usize>load<u32>(root + slotOf(ordinal, shift), ROOT_NODE_BLOCKS) + placeOf(ordinal, shift) * LIST_0_BYTES;
}

/** Address of the node's words. */
@inline export function nodeWordsAt(root: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  const block: usize = load<u32>(root + slotOf(ordinal, shift), ROOT_NODE_BLOCKS);
  return block + (LIST_0_BYTES << shift) + placeOf(ordinal, shift) * NODE_WORDS_BYTES;
}

/** Address of the node's list of a level. */
@inline export function listAt(root: usize, ordinal: u32, level: u32): usize {
  if (level == 0) return list0At(root, ordinal);
  return <usize>load<u32>(nodeWordsAt(root, ordinal), UPPER) + <usize>(level - 1) * LIST_UP_BYTES;
}

/** True when the row's block exists: a row that was never staged may have none. */
export function hasRow(root: usize, ordinal: u32): bool {
  return load<u32>(root + slotOf(ordinal, shiftOf(ordinal)), ROOT_ROW_BLOCKS) != 0;
}

/** True when the block of the node's lists exists. */
@inline export function hasNode(root: usize, ordinal: u32): bool {
  return load<u32>(root + slotOf(ordinal, shiftOf(ordinal)), ROOT_NODE_BLOCKS) != 0;
}

/** Number of rows in the block of `ordinal` from it to the block's end: rows that stand side by side in memory. */
@inline export function rowsToBlockEnd(ordinal: u32): u32 {
  const shift = shiftOf(ordinal);
  return (1 << shift) - <u32>placeOf(ordinal, shift);
}

/** Makes the row's block, its words 0. False when memory is full. */
export function ensureRow(root: usize, ordinal: u32): bool {
  if (hasRow(root, ordinal)) return true;
  const shift = shiftOf(ordinal);
  const vectorsBytes = <u64>load<u32>(root, ROOT_ROW_BYTES) << shift;
  const wordsBytes = <u64>ROW_WORDS_BYTES << shift;
  const block = addBlock(root, vectorsBytes + wordsBytes);
  if (!block) return false;
  memory.fill(block + <usize>vectorsBytes, 0, <usize>wordsBytes);
  atomic.store<u32>(root + ROOT_ROW_BLOCKS + slotOf(ordinal, shift), <u32>block);
  return true;
}

/** Makes the block of the node's lists, its lists empty, its words 0. False when memory is full. */
export function ensureNode(root: usize, ordinal: u32): bool {
  if (hasNode(root, ordinal)) return true;
  const shift = shiftOf(ordinal);
  const listsBytes = <u64>LIST_0_BYTES << shift;
  const wordsBytes = <u64>NODE_WORDS_BYTES << shift;
  const block = addBlock(root, listsBytes + wordsBytes);
  if (!block) return false;
  memory.fill(block, <u8>NONE, <usize>listsBytes);
  memory.fill(block + <usize>listsBytes, 0, <usize>wordsBytes);
  atomic.store<u32>(root + ROOT_NODE_BLOCKS + slotOf(ordinal, shift), <u32>block);
  return true;
}

/** Allocates and counts a block of the index; 0 when memory is full. A block of long rows can pass 32 bits, hence u64. */
export function addBlock(root: usize, bytes: u64): usize {
  const block = bytes < BLOCK_BYTES_MAX ? allocate(<usize>bytes) : 0;
  if (block) store<u32>(root, load<u32>(root, ROOT_LINES) + linesOf(block), ROOT_LINES);
  return block;
}
