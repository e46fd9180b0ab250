// Rows that are not in the graph yet: those at or above the watermark, and the relink queue of rows put again below it.
// Both are scanned by every search, so an answer is always over all rows. Owner's thread only; searches read the words.
import { QUEUE_ROWS, ROOT_QUEUE, ROOT_QUEUE_HEAD, ROOT_QUEUE_TAIL, ROOT_ROWS_END, ROOT_WATERMARK } from '../layout';
import { isLinked, pendingCount, resetGraph } from './graph';
import { link } from './insert';
import { addBlock, hasRow, isLive } from './rows';

/** The queue's entry with a running number. @inline */
export function queued(root: usize, number: u32): u32 {
  return atomic.load<u32>(<usize>load<u32>(root, ROOT_QUEUE) + ((<usize>(number & (QUEUE_ROWS - 1))) << 2));
}

/**
 * Sees to it that a row about to be published below the watermark is scanned. A full queue is worked off by one; where
 * memory is full and that fails, the graph is given up, which needs none.
 */
export function enqueue(scratch: usize, root: usize, ordinal: u32): void {
  if (ordinal >= load<u32>(root, ROOT_WATERMARK)) return;
  const tail = load<u32>(root, ROOT_QUEUE_TAIL);
  const full = tail - load<u32>(root, ROOT_QUEUE_HEAD) == QUEUE_ROWS;
  if (full && !linkQueued(scratch, root)) {
    resetGraph(root);
    return;
  }
  atomic.store<u32>(<usize>load<u32>(root, ROOT_QUEUE) + ((<usize>(tail & (QUEUE_ROWS - 1))) << 2), ordinal);
  atomic.store<u32>(root, tail + 1, ROOT_QUEUE_TAIL);
}

/** Links up to `max` rows, queued ones first. Answers how many live rows still wait; 0 also when memory is full. */
export function linkSome(scratch: usize, root: usize, max: u32): u32 {
  if (pendingCount(root) == 0 || !ensureQueue(root)) return 0;
  let left = max;
  for (; left > 0 && load<u32>(root, ROOT_QUEUE_HEAD) != load<u32>(root, ROOT_QUEUE_TAIL); left--) {
    if (!linkQueued(scratch, root)) return 0;
  }
  for (; left > 0 && load<u32>(root, ROOT_WATERMARK) < load<u32>(root, ROOT_ROWS_END); left--) {
    const ordinal = load<u32>(root, ROOT_WATERMARK);
    if (!linkIfLive(scratch, root, ordinal)) return 0;
    atomic.store<u32>(root, ordinal + 1, ROOT_WATERMARK);
  }
  return pendingCount(root);
}

function linkQueued(scratch: usize, root: usize): bool {
  const head = load<u32>(root, ROOT_QUEUE_HEAD);
  if (!linkIfLive(scratch, root, queued(root, head))) return false;
  atomic.store<u32>(root, head + 1, ROOT_QUEUE_HEAD);
  return true;
}

/** A row in the queue may have been removed since, or stand in it twice. */
function linkIfLive(scratch: usize, root: usize, ordinal: u32): bool {
  return !hasRow(root, ordinal) || !isLive(root, ordinal) || isLinked(root, ordinal) || link(scratch, root, ordinal);
}

function ensureQueue(root: usize): bool {
  if (load<u32>(root, ROOT_QUEUE)) return true;
  const queue = addBlock(root, QUEUE_ROWS << 2);
  if (!queue) return false;
  memory.fill(queue, 0, QUEUE_ROWS << 2);
  atomic.store<u32>(root, <u32>queue, ROOT_QUEUE);
  return true;
}
