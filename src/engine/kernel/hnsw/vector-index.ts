// The writes to an index: rows are staged unseen, published, removed; whole indexes are made and dropped. Owner's
// thread only. The order of the stores is what lets other threads search meanwhile (README.md, rules 8 to 10).
import {
  EF_MIN,
  FULL,
  NONE,
  OK,
  ROOT_BYTES,
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
  ROOT_WIDE_BYTES,
  ROW_NUMBERS,
  SCRATCH_INPUT,
  STAMP_AT,
} from '../layout';
import { allocate, linesOf } from './arena';
import { dropTable } from './block-table';
import { encodeRow, ensureCodes } from './codes/encode';
import { dropCodes, dropNext } from './codes/exchange';
import { isCopy, unhang } from './copies';
import { writeRow } from './distance';
import { retire } from './epochs';
import { fence } from './fence';
import { isLinked, resetGraph } from './graph';
import { enqueue } from './pending';
import { unlink } from './remove';
import { ensureQuery } from './query';
import { ensureRow, MARK, nodeWordsAt, rowWordsAt } from './rows';
import { areaAt } from './scratch';
import { ensureVisited } from './visited';

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
  atomic.store<u32>(rowWordsAt(root, ordinal), stamp);
  // LIVE never exceeds the rows that a search can find: it goes up after a stamp and down before one.
  atomic.store<u32>(root, load<u32>(root, ROOT_LIVE) + 1, ROOT_LIVE);
}

/**
 * Removes a live row. A node stays in the graph as a way-point until its ordinal is staged again or removed nodes
 * outnumber the live rows; a copy leaves at once.
 */
export function remove(root: usize, ordinal: u32): void {
  atomic.store<u32>(root, load<u32>(root, ROOT_LIVE) - 1, ROOT_LIVE);
  const stamp = rowWordsAt(root, ordinal);
  atomic.store<u32>(stamp, load<u32>(stamp) + 1);
  if (!isLinked(root, ordinal)) return;
  store<u32>(root, load<u32>(root, ROOT_LINKED) - 1, ROOT_LINKED);
  if (isCopy(root, ordinal)) {
    unhang(root, ordinal);
    store<u32>(nodeWordsAt(root, ordinal), 0, MARK);
    return;
  }
  store<u32>(root, load<u32>(root, ROOT_TOMBSTONES) + 1, ROOT_TOMBSTONES);
  if (load<u32>(root, ROOT_TOMBSTONES) > load<u32>(root, ROOT_LIVE)) resetGraph(root);
}
