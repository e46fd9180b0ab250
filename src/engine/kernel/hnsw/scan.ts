// Exact scoring, row by row in memory order: of small indexes, of rows not in the graph yet, and of rows whose scores
// are asked for. Any thread.
import { ROOT_QUEUE_HEAD, ROOT_QUEUE_TAIL, ROOT_ROWS_END, ROOT_ROW_BYTES, SCRATCH_OUTPUT } from '../layout';
import { allowedBits, filterEnd, isAllowed, isFiltered } from './allowed';
import { batched, putInBatch, touch } from './batch';
import { offer } from './best';
import { rowsToBlockEnd } from './block-table';
import { cosine } from './distance';
import { keyOf } from './keys';
import { queued } from './pending';
import { hasRow, isLive } from './rows';
import { areaAt } from './scratch';
import { visit } from './visited';

/** Rows of a filtered scan that are touched together. */
const TOUCHED_ROWS: u32 = 32;

/** Offers every live row of [from, end) that the filter admits to the best. */
export function scanRange(scratch: usize, root: usize, query: usize, from: u32, end: u32): void {
  if (isFiltered(scratch)) {
    scanAllowed(scratch, root, query, from, filterEnd(scratch, end));
    return;
  }
  for (let ordinal = from; ordinal < end; ) {
    const blockEnd = min(end, ordinal + rowsToBlockEnd(ordinal));
    if (hasRow(root, ordinal)) scanBlock(scratch, root, query, ordinal, blockEnd);
    ordinal = blockEnd;
  }
}

/** Offers the live rows of a range within one block. */
function scanBlock(scratch: usize, root: usize, query: usize, from: u32, end: u32): void {
  for (let ordinal = from; ordinal < end; ordinal++) {
    if (isLive(root, ordinal)) offer(scratch, keyOf(cosine(root, query, ordinal), ordinal));
  }
}

/** As much work as there are bits; the rows stand apart, so they are touched together before they are scored. */
function scanAllowed(scratch: usize, root: usize, query: usize, from: u32, end: u32): void {
  const first = from >> 5;
  let count: u32 = 0;
  for (let word = first; word << 5 < end; word++) {
    const bits = allowedBits(scratch, word, end);
    for (let left = word == first ? bits & (-1 << (from & 31)) : bits; left; left &= left - 1) {
      const ordinal = (word << 5) + ctz(left);
      if (!hasRow(root, ordinal) || !isLive(root, ordinal)) continue;
      putInBatch(scratch, count++, ordinal);
      if (count == TOUCHED_ROWS) count = scoreBatch(scratch, root, query, count);
    }
  }
  scoreBatch(scratch, root, query, count);
}

/** Offers the `count` rows in BATCH to the best; 0 are left in it then. */
function scoreBatch(scratch: usize, root: usize, query: usize, count: u32): u32 {
  touch(scratch, root, count, load<u32>(root, ROOT_ROW_BYTES));
  for (let i: u32 = 0; i < count; i++) {
    const ordinal = batched(scratch, i);
    offer(scratch, keyOf(cosine(root, query, ordinal), ordinal));
  }
  return 0;
}

/**
 * Offers the live rows of the relink queue that the filter admits and marks them met, so that the walk after it does
 * not find them again. The head is read before the tail, which then is never behind it; entries that come meanwhile may
 * name rows that the visited set has no room for.
 */
export function scanQueue(scratch: usize, root: usize, query: usize, rowsEnd: u32): void {
  const head = atomic.load<u32>(root, ROOT_QUEUE_HEAD);
  const tail = atomic.load<u32>(root, ROOT_QUEUE_TAIL);
  for (let number = head; number != tail; number++) {
    const ordinal = queued(root, number);
    if (ordinal >= rowsEnd) continue;
    if (isAllowed(scratch, ordinal) && isLive(root, ordinal) && visit(scratch, ordinal))
      offer(scratch, keyOf(cosine(root, query, ordinal), ordinal));
  }
}

/**
 * Writes the cosines of the `count` ordinals that stand at `ordinals` to the output area, whatever they are: NaN where
 * a row is not live.
 */
export function scoreSome(scratch: usize, root: usize, query: usize, ordinals: usize, count: u32): void {
  const rowsEnd = atomic.load<u32>(root, ROOT_ROWS_END);
  const output = areaAt(scratch, SCRATCH_OUTPUT);
  for (let i: u32 = 0; i < count; i++) {
    const ordinal = load<u32>(ordinals + ((<usize>i) << 2));
    store<f32>(output + ((<usize>i) << 2), ordinal < rowsEnd ? scoreOne(root, query, ordinal) : NaN);
  }
}

/** @inline */
function scoreOne(root: usize, query: usize, ordinal: u32): f32 {
  const live = hasRow(root, ordinal) && isLive(root, ordinal);
  return live ? cosine(root, query, ordinal) : NaN;
}
