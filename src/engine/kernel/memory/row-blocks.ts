// Rows and graph nodes of an index, in blocks that never move, and the tables that lead to the blocks. Any thread
// computes addresses with these functions; only the owner adds blocks and tables.
import {
  BATCH,
  FINE_PLACE,
  FIRST_ROWS,
  LEVEL_BITS,
  LEVEL_MAX,
  LINE_BYTES,
  LINKS_0,
  LINKS_UP,
  NODE_WORDS_BYTES,
  NONE,
  ROOT_LINES,
  ROOT_NODE_TABLE,
  ROOT_ROW_BYTES,
  ROOT_ROW_TABLE,
  ROOT_SMALL_TABLE,
  ROOT_WIDE_BYTES,
  ROW_STAMP,
  ROW_WORDS_BYTES,
  SMALL_TABLE_BYTES,
  TABLE_BYTES,
  TOUCHED,
} from '../../memory/layout';
import { allocate, linesOf } from './arena';
import { retire } from './epochs';

// The tables of the blocks that rows, graph nodes, codes and priorities stand in: a word for each block, found from the
// ordinal's leading bits. Small indexes, of which there are thousands, have a table of 32 words in their root; from
// FINE_PLACE - FIRST_ROWS rows on one of 544 takes its place, so that blocks of many rows are fine. The small one stays
// as it is: who has its address still finds the rows it knew of.

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

/** Bytes of the level-0 list of a node, and of one upper level. */
const LIST_0_BYTES: usize = LINKS_0 << 2;
const LIST_UP_BYTES: usize = LINKS_UP << 2;
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
  return (atomic.load<u32>(rowWordsAt(root, ordinal), ROW_STAMP) & 1) != 0;
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

/** Allocates and counts a block of the index; 0 when memory is full. */
export function addBlock(root: usize, bytes: u64): usize {
  return allocateCounted(root, ROOT_LINES, bytes);
}

/**
 * Allocates a block of an owner whose word at `lines` counts the lines of all of them; 0 when memory is full. A block
 * of long rows can pass 32 bits, hence u64.
 */
export function allocateCounted(owner: usize, lines: usize, bytes: u64): usize {
  const block = bytes < BLOCK_BYTES_MAX ? allocate(<usize>bytes) : 0;
  if (block) store<u32>(owner + lines, load<u32>(owner + lines) + linesOf(block));
  return block;
}

/** Retires such a block, whose address stands at `entry`, if there is one. */
export function retireCounted(owner: usize, lines: usize, entry: usize): void {
  const block: usize = load<u32>(entry);
  if (!block) return;
  store<u32>(owner + lines, load<u32>(owner + lines) - linesOf(block));
  atomic.store<u32>(entry, 0);
  retire(block);
}

// The rows that are about to be scored together: their ordinals, in the scratch of the thread, and the loads that bring
// their vectors near before.

/**
 * Of longer rows only the beginning is touched: what is touched should still be in the second cache when it is scored.
 */
const TOUCH_BYTES_MAX: usize = 8192;

/** @inline */
export function putInBatch(scratch: usize, place: u32, ordinal: u32): void {
  store<u32>(scratch + ((<usize>place) << 2), ordinal, BATCH);
}

/** @inline */
export function batched(scratch: usize, place: u32): u32 {
  return load<u32>(scratch + ((<usize>place) << 2), BATCH);
}

/**
 * Loads a byte of every line of the first `count` rows before they are scored: WebAssembly has no prefetch, but these
 * loads overlap. 5 to 12 % faster than no touch or the first line alone (node dist/load/main.js vectors recall --rows 30000, with
 * each in turn). The sum is kept, or nothing would be loaded.
 * @inline
 */
export function touch(scratch: usize, root: usize, count: u32, rowBytes: usize): void {
  const bytes = min<usize>(rowBytes, TOUCH_BYTES_MAX);
  let touched: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const vector = vectorAt(root, batched(scratch, i));
    touched ^= load<u8>(rowWordsAt(root, batched(scratch, i)));
    for (let at = vector; at < vector + bytes; at += LINE_BYTES) touched ^= load<u8>(at);
  }
  store<u32>(scratch, touched, TOUCHED);
}
