// The blocks that hold the rows and graph nodes of an index, and the block tables that lead to them. Blocks never move.
// Any thread computes addresses with these functions; only the owner adds blocks and tables.
import {
  BATCH,
  EDGES_0,
  EDGES_UP,
  FINE_PLACE,
  FIRST_ROWS,
  LEVEL_BITS,
  LEVEL_MAX,
  LINE_BYTES,
  NODE_WORDS_BYTES,
  NONE,
  ROOT_LINES,
  ROOT_NODE_TABLE,
  ROOT_ROW_BYTES,
  ROOT_ROW_TABLE,
  ROOT_SMALL_TABLE,
  ROOT_WIDE_BYTES,
  ROW_VERSION,
  ROW_WORDS_BYTES,
  SMALL_TABLE_BYTES,
  TABLE_BYTES,
  TOUCHED,
} from '../../memory/layout';
import { allocate, linesOf } from './arena';
import { retire } from './epochs';

// Block tables, which also serve quantized vectors and priorities: a table has one word for each block, found from the
// leading bits of the ordinal. Small indexes, of which there are thousands, have a table of 32 words in their root.
// When an index reaches `FINE_PLACE` - `FIRST_ROWS` rows, a table of 544 words replaces it, whose later blocks are
// smaller in proportion. The small table stays valid for readers that have its address.

/** The number of rows for which a small table has words. */
const SMALL_ROWS: u32 = FINE_PLACE - FIRST_ROWS;

/**
 * log2 of the number of rows in the ordinal's block. That number is a quarter of the largest power of two not above the
 * ordinal's place, or a thirty-second from `FINE_PLACE` on.
 * @inline
 */
export function shiftOf(ordinal: u32): u32 {
  const place = ordinal + FIRST_ROWS;
  return 29 - clz(place) - select<u32>(3, 0, place >= <u32>FINE_PLACE);
}

/** Offset in a table of the word for the ordinal's block. @inline */
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

/** The number of rows from `ordinal` to the end of its block. These rows are contiguous in memory. @inline */
export function rowsToBlockEnd(ordinal: u32): u32 {
  const shift = shiftOf(ordinal);
  return (1 << shift) - <u32>placeOf(ordinal, shift);
}

/**
 * True when there is a table that has a word for the ordinal's block. `at` is the address of the word that holds the
 * table's address or 0; `small` is the address of the small table, or 0 if there is none.
 * @inline
 */
export function hasSlot(at: usize, small: usize, ordinal: u32): bool {
  const table: usize = atomic.load<u32>(at);
  return table != 0 && (table != small || ordinal < SMALL_ROWS);
}

/** Address of the ordinal's block, or 0 if it does not exist. Parameters as in `hasSlot`. @inline */
export function blockOf(at: usize, small: usize, ordinal: u32): usize {
  return hasSlot(at, small, ordinal)
    ? <usize>atomic.load<u32>(<usize>load<u32>(at) + slotOf(ordinal, shiftOf(ordinal)))
    : 0;
}

/** Replaces the small table, or no table, by `table`, which has `TABLE_BYTES` of new memory. */
export function enterTable(at: usize, small: usize, table: usize): void {
  memory.fill(table, 0, TABLE_BYTES);
  if (small) memory.copy(table, small, SMALL_TABLE_BYTES);
  atomic.store<u32>(at, <u32>table);
}

/** Enters a block in its table. Requires `hasSlot`. */
export function enterBlock(at: usize, ordinal: u32, block: usize): void {
  atomic.store<u32>(<usize>load<u32>(at) + slotOf(ordinal, shiftOf(ordinal)), <u32>block);
}

/** Retires all blocks of a table, and the table unless it is the small one, which is part of its root. */
export function dropTable(at: usize, small: usize): void {
  const table: usize = load<u32>(at);
  if (!table) return;
  const end = table + (table == small ? SMALL_TABLE_BYTES : TABLE_BYTES);
  for (let slot = table; slot < end; slot += 4) retire(load<u32>(slot));
  if (table != small) retire(table);
}

/** Bytes of a node's neighbour list on level 0, and on each upper level. */
const LIST_0_BYTES: usize = EDGES_0 << 2;
const LIST_UP_BYTES: usize = EDGES_UP << 2;
const BLOCK_BYTES_MAX: u64 = 0xffff0000;

/** Address of the row's block, which must exist. @inline */
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

/** Address of the row's words, which stand behind the vectors of the block. @inline */
export function rowWordsAt(root: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  return (
    rowBlock(root, ordinal, shift) +
    ((<usize>load<u32>(root, ROOT_ROW_BYTES)) << shift) +
    placeOf(ordinal, shift) * ROW_WORDS_BYTES
  );
}

/** True for an index with rows of 8-bit numbers. @inline */
export function isNarrow(root: usize): bool {
  return load<u32>(root, ROOT_ROW_BYTES) != load<u32>(root, ROOT_WIDE_BYTES);
}

/** True for a live row, whose row version is odd. @inline */
export function isLive(root: usize, ordinal: u32): bool {
  return (atomic.load<u32>(rowWordsAt(root, ordinal), ROW_VERSION) & 1) != 0;
}

/** Address of the node's words, which stand in front of the neighbour lists of the block. @inline */
export function nodeWordsAt(root: usize, ordinal: u32): usize {
  const shift = shiftOf(ordinal);
  return nodeBlock(root, ordinal, shift) + placeOf(ordinal, shift) * NODE_WORDS_BYTES;
}

/** Address of the node's neighbour list on `level`. Requires that the node is on that level. @inline */
export function listAt(root: usize, ordinal: u32, level: u32): usize {
  const shift = shiftOf(ordinal);
  const lists = nodeBlock(root, ordinal, shift) + (NODE_WORDS_BYTES << shift);
  if (level == 0) return lists + placeOf(ordinal, shift) * LIST_0_BYTES;
  return lists + listsBelow(shift, level) + (placeOf(ordinal, shift) >> (level * LEVEL_BITS)) * LIST_UP_BYTES;
}

/**
 * Bytes of a block's neighbour lists on the levels below `level`. Level 0 has a list for every node; each upper level
 * has one list for every 16 of the level below, but at least one.
 */
function listsBelow(shift: u32, level: u32): usize {
  let bytes = LIST_0_BYTES << shift;
  for (let bits: u32 = LEVEL_BITS; bits < level * LEVEL_BITS; bits += LEVEL_BITS)
    bytes += LIST_UP_BYTES << (max(shift, bits) - bits);
  return bytes;
}

/** True when the row's block exists, which it need not for a row that was never staged. */
export function hasRow(root: usize, ordinal: u32): bool {
  return blockOf(root + ROOT_ROW_TABLE, root + ROOT_SMALL_TABLE, ordinal) != 0;
}

/** True when the block of the node exists. @inline */
export function hasNode(root: usize, ordinal: u32): bool {
  return blockOf(root + ROOT_NODE_TABLE, 0, ordinal) != 0;
}

/** Creates the row's block if needed, with row words of 0. False when memory is full. */
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

/** Creates the node's block if needed, with empty neighbour lists and node words of 0. False when memory is full. */
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

/** Creates the block table if needed. False when memory is full. */
function ensureTable(root: usize, at: usize, small: usize, ordinal: u32): bool {
  if (hasSlot(at, small, ordinal)) return true;
  const table = addBlock(root, TABLE_BYTES);
  if (table) enterTable(at, small, table);
  return table != 0;
}

/** Allocates a block and counts its lines for the index. Returns its address, or 0 when memory is full. */
export function addBlock(root: usize, bytes: u64): usize {
  return allocateCounted(root, ROOT_LINES, bytes);
}

/**
 * Allocates a block and adds its lines to the counter at `owner + lines`. Returns its address, or 0 when memory is
 * full. `bytes` is u64 because a block of long rows can exceed 32 bits.
 */
export function allocateCounted(owner: usize, lines: usize, bytes: u64): usize {
  const block = bytes < BLOCK_BYTES_MAX ? allocate(<usize>bytes) : 0;
  if (block) store<u32>(owner + lines, load<u32>(owner + lines) + linesOf(block));
  return block;
}

/** Retires a block from `allocateCounted` whose address stands at `entry`, if there is one, and clears the entry. */
export function retireCounted(owner: usize, lines: usize, entry: usize): void {
  const block: usize = load<u32>(entry);
  if (!block) return;
  store<u32>(owner + lines, load<u32>(owner + lines) - linesOf(block));
  atomic.store<u32>(entry, 0);
  retire(block);
}

// The batch: ordinals of rows that are about to be scored together, in the scratch of the thread. Their vectors are
// loaded into the cache before they are scored.

/** The limit of what is touched of each row, so that it is still in the second-level cache when the row is scored. */
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
 * Loads a byte of every cache line of the first `count` rows of the batch. WebAssembly has no prefetch, but these loads
 * overlap. This makes searches 5 to 12 % faster than no touching, or touching the first line only (measured by node
 * dist/load/main.js vectors recall --rows 30000). The combined bytes are stored, or the compiler would remove the
 * loads.
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
