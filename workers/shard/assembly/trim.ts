// Gives back the memory of rows at the end of an index that are all free: first they are hidden, so that no search that
// begins finds a way to them, and when the readers of before have left, the blocks go. Owner's thread only;
// compaction.ts says when.
import {
  FULL,
  ORDINALS_MAX,
  ROOT_CODES,
  ROOT_CODES_NEXT,
  ROOT_LINES,
  ROOT_NODE_TABLE,
  ROOT_ROWS_END,
  ROOT_ROW_TABLE,
  ROOT_SMALL_TABLE,
  ROOT_WATERMARK,
} from '../layout';
import { CODES_LINES, CODES_ROW_BLOCKS } from '../codes/layout';
import { linesOf } from './arena';
import { hasSlot, rowsToBlockEnd, shiftOf, slotOf } from './block-table';
import { retire } from './epochs';
import { isLinked } from './graph';
import { ensureQuery } from './query';
import { unlink } from './remove';
import { hasRow, isLive } from './rows';

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
      take(root, <usize>load<u32>(root, ROOT_ROW_TABLE) + slot, ROOT_LINES);
    if (hasSlot(root + ROOT_NODE_TABLE, 0, ordinal))
      take(root, <usize>load<u32>(root, ROOT_NODE_TABLE) + slot, ROOT_LINES);
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
  if (codes) take(codes, codes + CODES_ROW_BLOCKS + slot, CODES_LINES);
}

/** Retires the block whose address stands at `entry`, if there is one; the word at `lines` of `owner` counts it. */
function take(owner: usize, entry: usize, lines: usize): void {
  const block: usize = load<u32>(entry);
  if (!block) return;
  store<u32>(owner + lines, load<u32>(owner + lines) - linesOf(block));
  atomic.store<u32>(entry, 0);
  retire(block);
}
