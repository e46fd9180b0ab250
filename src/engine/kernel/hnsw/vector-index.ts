// The writes to an index: rows are staged unseen, published, removed, and the memory of those at its end is given back;
// whole indexes are made and dropped. Owner only. The order of the stores is what lets other threads search meanwhile
// (memory-layout.md, rules 8 to 10).
import {
  BATCH,
  CODES_LINES,
  CODES_ROW_BLOCKS,
  EF_MIN,
  ENTRY_LEVEL_SHIFT,
  ENTRY_ORDINAL_MASK,
  FULL,
  LINKS_0,
  NODE_MARK,
  NONE,
  OK,
  ORDINALS_MAX,
  ROOT_BYTES,
  ROOT_CODES,
  ROOT_CODES_NEXT,
  ROOT_DIM,
  ROOT_EF,
  ROOT_ENTRY,
  ROOT_GRAPH,
  ROOT_GRAPH_MIN,
  ROOT_LINES,
  ROOT_LINKED,
  ROOT_LIVE,
  ROOT_NODE_TABLE,
  ROOT_QUEUE,
  ROOT_ROWS_END,
  ROOT_ROW_BYTES,
  ROOT_ROW_TABLE,
  ROOT_SMALL_TABLE,
  ROOT_TOMBSTONES,
  ROOT_WATERMARK,
  ROOT_WIDE_BYTES,
  ROW_STAMP,
  SCRATCH_BEST,
  SCRATCH_INPUT,
  STAMP_AT,
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
import { dropCodes, dropNext, encodeRow, ensureCodes } from '../quantization/quantizer';
import { ensureVisited } from './candidates';
import { copyAfter, isCopy, setBefore, unhang } from './duplicate-vectors';
import {
  clearList,
  countLinks,
  entryOf,
  isLinked,
  join,
  levelOf,
  linkIn,
  moveEntry,
  replaceLink,
  resetGraph,
  setEntry,
  setLink,
  unlinkOne,
  widthOf,
} from './graph';
import { enqueue } from './graph-builder';

const PAIRS_MAX: u32 = (LINKS_0 * (LINKS_0 - 1)) >> 1;

/**
 * Takes a removed node out of the graph before its row is written anew (a removed row alone stays as a way-point). Its
 * first copy takes its place; its neighbours are connected with each other to mend the hole (after Vespa's
 * mutual_reconnect). Requires that the row is in the graph and no copy.
 */
function unlink(scratch: usize, root: usize, ordinal: u32): void {
  const isEntry = (entryOf(root) & ENTRY_ORDINAL_MASK) == ordinal;
  // Before its lists are emptied, which lead a search that begins at it nowhere: to find another takes longer than many
  // a search.
  if (isEntry) moveEntry(root, ordinal);
  const heir = copyAfter(root, ordinal);
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

/** Makes a node the entry point where there is none of its level. */
function offerEntry(root: usize, ordinal: u32, level: u32): void {
  const entry = entryOf(root);
  if (entry == NONE || level > entry >> ENTRY_LEVEL_SHIFT) setEntry(root, ordinal, level);
}

/**
 * Puts a copy in the place of the node on a level: the same vector, the same neighbours. A search meets one or the
 * other.
 */
function succeed(root: usize, ordinal: u32, heir: u32, level: u32): void {
  const list = listAt(root, ordinal, level);
  const heirList = listAt(root, heir, level);
  const count = countLinks(list, widthOf(level));
  for (let slot: u32 = 0; slot < count; slot++) setLink(heirList, slot, linkIn(list, slot));
  for (let slot: u32 = 0; slot < count; slot++)
    replaceLink(listAt(root, linkIn(list, slot), level), widthOf(level), ordinal, heir);
}

/** Takes the node out of its neighbours' lists of a level and mends the hole. */
function takeOut(scratch: usize, root: usize, ordinal: u32, level: u32): void {
  const list = listAt(root, ordinal, level);
  const count = countLinks(list, widthOf(level));
  for (let slot: u32 = 0; slot < count; slot++) unlinkOne(root, linkIn(list, slot), level, ordinal);
  mend(scratch, root, list, level, count);
}

/**
 * Links the `count` nodes of `list` by a tree of nearest pairs (Kruskal 1956), so that whoever reached one node through
 * the one that goes still reaches it. Each has just lost a link; where one needs more room than it has, a pair further
 * on serves.
 */
function mend(scratch: usize, root: usize, list: usize, level: u32, count: u32): void {
  const pairs = rankPairs(scratch, root, list, count);
  for (let slot: u32 = 0; slot < count; slot++) store<u32>(scratch + ((<usize>slot) << 2), 1 << slot, BATCH);
  for (let i: u32 = 0; i < pairs; i++) {
    const pair = ordinalOf(load<u64>(areaAt(scratch, SCRATCH_BEST) + ((<usize>i) << 3)));
    const treeA = load<u32>(scratch + ((<usize>(pair >> 8)) << 2), BATCH);
    const treeB = load<u32>(scratch + ((<usize>(pair & 255)) << 2), BATCH);
    if (treeA == treeB || !join(root, level, linkIn(list, pair >> 8), linkIn(list, pair & 255))) continue;
    for (let slot: u32 = 0; slot < count; slot++) {
      if ((treeA | treeB) & (1 << slot)) store<u32>(scratch + ((<usize>slot) << 2), treeA | treeB, BATCH);
    }
  }
}

/**
 * Puts all pairs of slots of `list` (slot << 8 | slot, in place of ordinals) into BEST, nearest first, and answers
 * their number.
 */
function rankPairs(scratch: usize, root: usize, list: usize, count: u32): u32 {
  clearBest(scratch, PAIRS_MAX);
  for (let a: u32 = 1; a < count; a++) {
    const vector = setOperand(root, linkIn(list, a), operandIn(scratch, root));
    for (let b: u32 = 0; b < a; b++) {
      offer(scratch, keyOf(cosine(root, vector, linkIn(list, b)), (a << 8) | b));
    }
  }
  return sortBest(scratch);
}

/** Rows are padded with zeros to this many numbers: one round of the dot product's accumulators. */
const ROW_NUMBERS = 32;

/** Makes an empty index of rows of 16-bit or, `narrow`, 8-bit numbers; answers its root, or 0 when memory is full. */
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
 * Gives all memory of an index back. Requires that nothing leads to it any more; a reader may still be searching it.
 */
export function dropIndex(root: usize): void {
  dropTable(root + ROOT_ROW_TABLE, root + ROOT_SMALL_TABLE);
  dropTable(root + ROOT_NODE_TABLE, 0);
  dropNext(root);
  dropCodes(root);
  retire(load<u32>(root, ROOT_QUEUE));
  retire(root);
}

/**
 * Writes the input area, scaled to unit length, into a row that is not live; no search sees it. FULL, and nothing
 * changed, when memory is full.
 */
export function stage(scratch: usize, root: usize, ordinal: u32): i32 {
  if (
    !ensureRow(root, ordinal) ||
    !ensureCodes(root, ordinal) ||
    !ensureQuery(scratch, root) ||
    !ensureVisited(scratch, max(ordinal + 1, load<u32>(root, ROOT_ROWS_END)))
  )
    return FULL;
  if (isLinked(root, ordinal)) unlink(scratch, root, ordinal);
  fence(scratch);
  writeRow(areaAt(scratch, SCRATCH_INPUT), root, ordinal);
  encodeRow(scratch, root, ordinal);
  return OK;
}

/**
 * Makes a staged row live under a stamp never used before. Everything a search needs to find it is written before the
 * stamp.
 */
export function publish(scratch: usize, root: usize, ordinal: u32): void {
  enqueue(scratch, root, ordinal);
  if (ordinal >= load<u32>(root, ROOT_ROWS_END)) atomic.store<u32>(root, ordinal + 1, ROOT_ROWS_END);
  const stamp = atomic.add<u32>(STAMP_AT, 2) + 2;
  atomic.store<u32>(rowWordsAt(root, ordinal), stamp, ROW_STAMP);
  // LIVE never exceeds the rows that a search can find: it goes up after a stamp and down before one.
  atomic.store<u32>(root, load<u32>(root, ROOT_LIVE) + 1, ROOT_LIVE);
}

/**
 * Removes a live row. A node stays in the graph as a way-point until its ordinal is staged again or removed nodes
 * outnumber the live rows; a copy leaves at once.
 */
export function remove(root: usize, ordinal: u32): void {
  atomic.store<u32>(root, load<u32>(root, ROOT_LIVE) - 1, ROOT_LIVE);
  const words = rowWordsAt(root, ordinal);
  atomic.store<u32>(words, load<u32>(words, ROW_STAMP) + 1, ROW_STAMP);
  if (!isLinked(root, ordinal)) return;
  store<u32>(root, load<u32>(root, ROOT_LINKED) - 1, ROOT_LINKED);
  if (isCopy(root, ordinal)) {
    unhang(root, ordinal);
    store<u32>(nodeWordsAt(root, ordinal), 0, NODE_MARK);
    return;
  }
  store<u32>(root, load<u32>(root, ROOT_TOMBSTONES) + 1, ROOT_TOMBSTONES);
  if (load<u32>(root, ROOT_TOMBSTONES) > load<u32>(root, ROOT_LIVE)) resetGraph(root);
}

// Gives back the memory of rows at the end of an index that are all free: first they are hidden, so that no search that
// begins finds a way to them, and when the readers of before have left, the blocks go.

/**
 * Lowers the end of the rows to `end`, past rows that are not live: up to `max` of their nodes are taken out of the
 * graph. Answers the end that it has come to. FULL when memory is full; what has been done until then is whole.
 */
export function hideRows(scratch: usize, root: usize, end: u32, max: u32): i32 {
  if (!ensureQuery(scratch, root)) return FULL;
  let last = load<u32>(root, ROOT_ROWS_END);
  for (let left = max; last > end && left > 0; last--) {
    const ordinal = last - 1;
    if (hasRow(root, ordinal)) {
      if (isLive(root, ordinal)) break;
      if (isLinked(root, ordinal)) {
        unlink(scratch, root, ordinal);
        left--;
      }
    }
  }
  // The watermark never lies above the end: rows that come again are linked in their order, not through the queue.
  if (load<u32>(root, ROOT_WATERMARK) > last) atomic.store<u32>(root, last, ROOT_WATERMARK);
  atomic.store<u32>(root, last, ROOT_ROWS_END);
  return last;
}

/**
 * Retires all blocks of rows at or above `from`. Requires that these are hidden, that none is staged, and that no
 * reader is left from before.
 */
export function freeRows(root: usize, from: u32): void {
  let ordinal = firstOfBlock(from);
  while (ordinal < <u32>ORDINALS_MAX) {
    const slot = slotOf(ordinal, shiftOf(ordinal));
    if (hasSlot(root + ROOT_ROW_TABLE, root + ROOT_SMALL_TABLE, ordinal))
      retireCounted(root, ROOT_LINES, <usize>load<u32>(root, ROOT_ROW_TABLE) + slot);
    if (hasSlot(root + ROOT_NODE_TABLE, 0, ordinal))
      retireCounted(root, ROOT_LINES, <usize>load<u32>(root, ROOT_NODE_TABLE) + slot);
    takeCodes(load<u32>(root, ROOT_CODES), slot);
    takeCodes(load<u32>(root, ROOT_CODES_NEXT), slot);
    ordinal += rowsToBlockEnd(ordinal);
  }
}

/** The first ordinal at or above `from` that begins a block. */
function firstOfBlock(from: u32): u32 {
  return from == 0 || rowsToBlockEnd(from) == (<u32>1) << shiftOf(from) ? from : from + rowsToBlockEnd(from);
}

function takeCodes(codes: usize, slot: usize): void {
  if (codes) retireCounted(codes, CODES_LINES, codes + CODES_ROW_BLOCKS + slot);
}
