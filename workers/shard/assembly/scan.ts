// Exact scoring, row by row in memory order: of small indexes, of rows not in the graph yet, and of all rows when every score
// is asked for. Any thread.
import { ROOT_QUEUE_HEAD, ROOT_QUEUE_TAIL, ROOT_ROW_BYTES, ROW_WORDS_BYTES, SCRATCH_OUTPUT } from '../layout';
import { offer } from './best';
import { cosine } from './distance';
import { keyOf } from './keys';
import { queued } from './pending';
import { hasRow, isLive, rowsToBlockEnd, rowWordsAt, vectorAt } from './rows';
import { areaAt } from './scratch';
import { visit } from './visited';

/** Offers every live row of [from, end) to the best. */
export function scanRange(scratch: usize, root: usize, query: usize, from: u32, end: u32): void {
  for (let ordinal = from; ordinal < end; ) {
    const blockEnd = min(end, ordinal + rowsToBlockEnd(ordinal));
    if (hasRow(root, ordinal)) scanBlock(scratch, root, query, ordinal, blockEnd);
    ordinal = blockEnd;
  }
}

/** Offers the live rows of a range within one block. */
function scanBlock(scratch: usize, root: usize, query: usize, from: u32, end: u32): void {
  const rowBytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  let vector = vectorAt(root, from);
  let stamp = rowWordsAt(root, from);
  for (let ordinal = from; ordinal < end; ordinal++, vector += rowBytes, stamp += ROW_WORDS_BYTES) {
    if (atomic.load<u32>(stamp) & 1) offer(scratch, keyOf(cosine(query, vector, rowBytes), ordinal));
  }
}

/** Offers the live rows of the relink queue and marks them met, so that the walk after it does not find them again. */
export function scanQueue(scratch: usize, root: usize, query: usize): void {
  const rowBytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  const tail = atomic.load<u32>(root, ROOT_QUEUE_TAIL);
  for (let number = atomic.load<u32>(root, ROOT_QUEUE_HEAD); number != tail; number++) {
    const ordinal = queued(root, number);
    if (isLive(root, ordinal) && visit(scratch, ordinal)) offer(scratch, keyOf(cosine(query, vectorAt(root, ordinal), rowBytes), ordinal));
  }
}

/** Writes the cosine of every row of [0, end) to the output area, NaN for a row that is not live. */
export function scoreAll(scratch: usize, root: usize, query: usize, end: u32): void {
  const rowBytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  const output = areaAt(scratch, SCRATCH_OUTPUT);
  for (let ordinal: u32 = 0; ordinal < end; ordinal++) {
    const live = hasRow(root, ordinal) && isLive(root, ordinal);
    store<f32>(output + (<usize>ordinal << 2), live ? cosine(query, vectorAt(root, ordinal), rowBytes) : NaN);
  }
}
