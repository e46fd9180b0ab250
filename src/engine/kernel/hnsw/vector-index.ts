// The writes to a vector index: rows are staged unseen, published and removed; the memory of free rows at the end of
// the index is reclaimed; indexes are created and dropped. Owner only. The order of the stores lets other threads
// search at the same time (memory-layout.md, rules 8 to 10).
import {
  BATCH,
  EDGES_0,
  EF_MIN,
  ENTRY_LEVEL_SHIFT,
  ENTRY_ORDINAL_MASK,
  FULL,
  LAST_ROW_VERSION_AT,
  NODE_MARK,
  NONE,
  OK,
  ORDINALS_MAX,
  QUANTIZER_LINES,
  QUANTIZER_ROW_BLOCKS,
  ROOT_BYTES,
  ROOT_DIM,
  ROOT_EF,
  ROOT_ENTRY,
  ROOT_GRAPH,
  ROOT_GRAPH_MIN,
  ROOT_INDEXED,
  ROOT_INDEXED_TO,
  ROOT_LINES,
  ROOT_LIVE,
  ROOT_NODE_TABLE,
  ROOT_QUANTIZER,
  ROOT_QUANTIZER_NEXT,
  ROOT_QUEUE,
  ROOT_ROWS_END,
  ROOT_ROW_BYTES,
  ROOT_ROW_TABLE,
  ROOT_SMALL_TABLE,
  ROOT_TOMBSTONES,
  ROOT_WIDE_BYTES,
  ROW_VERSION,
  SCRATCH_BEST,
  SCRATCH_INPUT,
} from '../../memory/layout';
import { allocate, linesOf } from '../memory/arena';
import { retire } from '../memory/epochs';
import {
  dropTable,
  ensureRow,
  hasRow,
  hasSlot,
  isLive,
  listAt,
  nodeWordsAt,
  retireCounted,
  rowWordsAt,
  rowsToBlockEnd,
  shiftOf,
  slotOf,
} from '../memory/row-blocks';
import { areaAt, fence } from '../memory/scratch';
import { clearBest, keyOf, offer, ordinalOf, sortBest } from '../memory/top-k';
import { cosine, ensureQuery, operandIn, setOperand, writeRow } from '../quantization/distance';
import { dropNext, dropQuantizer, encodeRow, ensureQuantizer } from '../quantization/quantizer';
import { ensureVisited } from './candidates';
import { duplicateAfter, isDuplicate, setBefore, unhang } from './duplicate-vectors';
import {
  clearList,
  countEdges,
  edgeIn,
  entryOf,
  isIndexed,
  join,
  levelOf,
  moveEntry,
  replaceEdge,
  resetGraph,
  setEdge,
  setEntry,
  unlinkOne,
  widthOf,
} from './graph';
import { enqueue } from './graph-builder';

const PAIRS_MAX: u32 = (EDGES_0 * (EDGES_0 - 1)) >> 1;

/**
 * Takes a removed node out of the graph before its row is written again; until then a removed node stays as a
 * way-point. Its first duplicate takes its place where it can; elsewhere its neighbours are connected with each other
 * (after Vespa's mutual_reconnect). Requires that the row is in the graph and is not a duplicate.
 */
function unlink(scratch: usize, root: usize, ordinal: u32): void {
  const isEntry = (entryOf(root) & ENTRY_ORDINAL_MASK) == ordinal;
  // The entry point moves before the lists are emptied: a search that starts at an empty node finds nothing, and
  // finding a new entry point takes longer than many a search.
  if (isEntry) moveEntry(root, ordinal);
  const heir = duplicateAfter(root, ordinal);
  const heirLevels: u32 = heir == NONE ? 0 : levelOf(heir) + 1;
  if (heir != NONE) setBefore(root, heir, NONE);
  const level = levelOf(ordinal);
  for (let at: u32 = 0; at <= level; at++) {
    if (at < heirLevels) succeed(root, ordinal, heir, at);
    else takeOut(scratch, root, ordinal, at);
    clearList(listAt(root, ordinal, at), widthOf(at));
  }
  store<u32>(nodeWordsAt(root, ordinal), 0, NODE_MARK);
  store<u32>(root, load<u32>(root, ROOT_TOMBSTONES) - 1, ROOT_TOMBSTONES);
  if (isEntry && heir != NONE) offerEntry(root, heir, min(heirLevels - 1, level));
}

/** Makes a node the entry point if there is none of at least its level. */
function offerEntry(root: usize, ordinal: u32, level: u32): void {
  const entry = entryOf(root);
  if (entry == NONE || level > entry >> ENTRY_LEVEL_SHIFT) setEntry(root, ordinal, level);
}

/**
 * Puts a duplicate in the place of its node on a level, with the same neighbours. A concurrent search meets one or the
 * other.
 */
function succeed(root: usize, ordinal: u32, heir: u32, level: u32): void {
  const list = listAt(root, ordinal, level);
  const heirList = listAt(root, heir, level);
  const count = countEdges(list, widthOf(level));
  for (let slot: u32 = 0; slot < count; slot++) setEdge(heirList, slot, edgeIn(list, slot));
  for (let slot: u32 = 0; slot < count; slot++)
    replaceEdge(listAt(root, edgeIn(list, slot), level), widthOf(level), ordinal, heir);
}

/** Removes the node from its neighbours' lists on a level and reconnects the neighbours. */
function takeOut(scratch: usize, root: usize, ordinal: u32, level: u32): void {
  const list = listAt(root, ordinal, level);
  const count = countEdges(list, widthOf(level));
  for (let slot: u32 = 0; slot < count; slot++) unlinkOne(root, edgeIn(list, slot), level, ordinal);
  mend(scratch, root, list, level, count);
}

/**
 * Connects the `count` nodes of `list` by a minimum spanning tree (Kruskal 1956), so that the nodes reached through the
 * removed node are still reached. Each node has just lost an edge; where one has no free slot for a second, a later
 * pair is used.
 */
function mend(scratch: usize, root: usize, list: usize, level: u32, count: u32): void {
  const pairs = rankPairs(scratch, root, list, count);
  for (let slot: u32 = 0; slot < count; slot++) store<u32>(scratch + ((<usize>slot) << 2), 1 << slot, BATCH);
  for (let i: u32 = 0; i < pairs; i++) {
    const pair = ordinalOf(load<u64>(areaAt(scratch, SCRATCH_BEST) + ((<usize>i) << 3)));
    const treeA = load<u32>(scratch + ((<usize>(pair >> 8)) << 2), BATCH);
    const treeB = load<u32>(scratch + ((<usize>(pair & 255)) << 2), BATCH);
    if (treeA == treeB || !join(root, level, edgeIn(list, pair >> 8), edgeIn(list, pair & 255))) continue;
    for (let slot: u32 = 0; slot < count; slot++) {
      if ((treeA | treeB) & (1 << slot)) store<u32>(scratch + ((<usize>slot) << 2), treeA | treeB, BATCH);
    }
  }
}

/**
 * Puts all pairs of slots of `list` into BEST, nearest first, and returns their number. A key has (slot << 8 | slot) in
 * the place of the ordinal.
 */
function rankPairs(scratch: usize, root: usize, list: usize, count: u32): u32 {
  clearBest(scratch, PAIRS_MAX);
  for (let a: u32 = 1; a < count; a++) {
    const vector = setOperand(root, edgeIn(list, a), operandIn(scratch, root));
    for (let b: u32 = 0; b < a; b++) {
      offer(scratch, keyOf(cosine(root, vector, edgeIn(list, b)), (a << 8) | b));
    }
  }
  return sortBest(scratch);
}

/** Rows are padded with zeros to a multiple of this many numbers, one round of the accumulators of the dot product. */
const ROW_NUMBERS = 32;

/**
 * Creates an empty index with rows of 16-bit numbers, or of 8-bit numbers with `narrow`. `graphMin` is the number of
 * live rows from which it has a graph. Returns its root, or 0 when memory is full.
 */
export function createIndex(dim: u32, graphMin: u32, narrow: bool): usize {
  const root = allocate(ROOT_BYTES);
  if (!root) return 0;
  memory.fill(root, 0, ROOT_BYTES);
  store<u32>(root, dim, ROOT_DIM);
  const numbers = ((dim + ROW_NUMBERS - 1) / ROW_NUMBERS) * ROW_NUMBERS;
  store<u32>(root, numbers << (narrow ? 0 : 1), ROOT_ROW_BYTES);
  store<u32>(root, numbers << 1, ROOT_WIDE_BYTES);
  store<u32>(root, graphMin, ROOT_GRAPH_MIN);
  store<u32>(root, 1, ROOT_GRAPH);
  store<u32>(root, EF_MIN, ROOT_EF);
  store<u32>(root, linesOf(root), ROOT_LINES);
  store<u32>(root, <u32>root + ROOT_SMALL_TABLE, ROOT_ROW_TABLE);
  atomic.store<u32>(root, NONE, ROOT_ENTRY);
  return root;
}

/**
 * Retires all memory of an index. Requires that no shared address leads to it any more; readers may still be searching
 * it.
 */
export function dropIndex(root: usize): void {
  dropTable(root + ROOT_ROW_TABLE, root + ROOT_SMALL_TABLE);
  dropTable(root + ROOT_NODE_TABLE, 0);
  dropNext(root);
  dropQuantizer(root);
  retire(load<u32>(root, ROOT_QUEUE));
  retire(root);
}

/**
 * Writes the vector in the input area, scaled to unit length, into a row that is not live, so no search sees it. FULL,
 * with nothing changed, when memory is full.
 */
export function stage(scratch: usize, root: usize, ordinal: u32): i32 {
  if (
    !ensureRow(root, ordinal) ||
    !ensureQuantizer(root, ordinal) ||
    !ensureQuery(scratch, root) ||
    !ensureVisited(scratch, max(ordinal + 1, load<u32>(root, ROOT_ROWS_END)))
  )
    return FULL;
  if (isIndexed(root, ordinal)) unlink(scratch, root, ordinal);
  fence(scratch);
  writeRow(areaAt(scratch, SCRATCH_INPUT), root, ordinal);
  encodeRow(scratch, root, ordinal);
  return OK;
}

/**
 * Makes a staged row live with a new row version. Everything that a search needs to find the row is written before the
 * row version.
 */
export function publish(scratch: usize, root: usize, ordinal: u32): void {
  enqueue(scratch, root, ordinal);
  if (ordinal >= load<u32>(root, ROOT_ROWS_END)) atomic.store<u32>(root, ordinal + 1, ROOT_ROWS_END);
  const rowVersion = atomic.add<u32>(LAST_ROW_VERSION_AT, 2) + 2;
  atomic.store<u32>(rowWordsAt(root, ordinal), rowVersion, ROW_VERSION);
  // `ROOT_LIVE` never exceeds the rows that a search can find: it is increased after a row version is stored, and
  // decreased before.
  atomic.store<u32>(root, load<u32>(root, ROOT_LIVE) + 1, ROOT_LIVE);
}

/** Gives a live row a new row version, because its metadata change and its vector does not. It stays in the graph. */
export function renew(root: usize, ordinal: u32): void {
  const rowVersion = atomic.add<u32>(LAST_ROW_VERSION_AT, 2) + 2;
  atomic.store<u32>(rowWordsAt(root, ordinal), rowVersion, ROW_VERSION);
}

/**
 * Removes a live row. A node stays in the graph as a way-point until its ordinal is staged again or removed nodes
 * outnumber live rows, which resets the graph; a duplicate leaves at once.
 */
export function remove(root: usize, ordinal: u32): void {
  atomic.store<u32>(root, load<u32>(root, ROOT_LIVE) - 1, ROOT_LIVE);
  const words = rowWordsAt(root, ordinal);
  atomic.store<u32>(words, load<u32>(words, ROW_VERSION) + 1, ROW_VERSION);
  if (!isIndexed(root, ordinal)) return;
  store<u32>(root, load<u32>(root, ROOT_INDEXED) - 1, ROOT_INDEXED);
  if (isDuplicate(root, ordinal)) {
    unhang(root, ordinal);
    store<u32>(nodeWordsAt(root, ordinal), 0, NODE_MARK);
    return;
  }
  store<u32>(root, load<u32>(root, ROOT_TOMBSTONES) + 1, ROOT_TOMBSTONES);
  if (load<u32>(root, ROOT_TOMBSTONES) > load<u32>(root, ROOT_LIVE)) resetGraph(root);
}

// Reclaiming the rows at the end of an index, all of which are free: they are hidden first, so that no new search finds
// a way to them, and once earlier readers have left, their blocks are retired.

/**
 * Lowers the end of the rows towards `end`, past rows that are not live, and takes up to `max` of their nodes out of
 * the graph. Returns the end that it has reached. FULL when memory is full.
 */
export function hideRows(scratch: usize, root: usize, end: u32, max: u32): i32 {
  if (!ensureQuery(scratch, root)) return FULL;
  let last = load<u32>(root, ROOT_ROWS_END);
  for (let left = max; last > end && left > 0; last--) {
    const ordinal = last - 1;
    if (hasRow(root, ordinal)) {
      if (isLive(root, ordinal)) break;
      if (isIndexed(root, ordinal)) {
        unlink(scratch, root, ordinal);
        left--;
      }
    }
  }
  // `ROOT_INDEXED_TO` never exceeds the end of the rows, so rows that are added again are linked in their order and not
  // through the queue.
  if (load<u32>(root, ROOT_INDEXED_TO) > last) atomic.store<u32>(root, last, ROOT_INDEXED_TO);
  atomic.store<u32>(root, last, ROOT_ROWS_END);
  return last;
}

/**
 * Retires all blocks of rows at or above `from`. Requires that these rows are hidden, that none is staged, and that the
 * readers from before have left.
 */
export function freeRows(root: usize, from: u32): void {
  let ordinal = firstOfBlock(from);
  while (ordinal < <u32>ORDINALS_MAX) {
    const slot = slotOf(ordinal, shiftOf(ordinal));
    if (hasSlot(root + ROOT_ROW_TABLE, root + ROOT_SMALL_TABLE, ordinal))
      retireCounted(root, ROOT_LINES, <usize>load<u32>(root, ROOT_ROW_TABLE) + slot);
    if (hasSlot(root + ROOT_NODE_TABLE, 0, ordinal))
      retireCounted(root, ROOT_LINES, <usize>load<u32>(root, ROOT_NODE_TABLE) + slot);
    takeQuantized(load<u32>(root, ROOT_QUANTIZER), slot);
    takeQuantized(load<u32>(root, ROOT_QUANTIZER_NEXT), slot);
    ordinal += rowsToBlockEnd(ordinal);
  }
}

/** The first ordinal at or above `from` that begins a block. */
function firstOfBlock(from: u32): u32 {
  return from == 0 || rowsToBlockEnd(from) == (<u32>1) << shiftOf(from) ? from : from + rowsToBlockEnd(from);
}

function takeQuantized(quantizer: usize, slot: usize): void {
  if (quantizer) retireCounted(quantizer, QUANTIZER_LINES, quantizer + QUANTIZER_ROW_BLOCKS + slot);
}
