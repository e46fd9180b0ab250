// A search over codes: fold the query, go down, walk, score the best again by their 16-bit numbers. Any thread, with a scratch of
// its own. Rows that are not linked yet are not found: whoever calls it scans them, as ../search.ts does.
import { FULL, NONE, ROOT_DIM, ROOT_ROWS_END, ROOT_ROW_BYTES, SCRATCH_INPUT, SCRATCH_POOL, SCRATCH_QUERY, TOUCHED, LINE_BYTES } from '../../layout';
import { CODES_WIDE_BYTES } from '../../codes/layout';
import { clearBest, offer } from '../best';
import { copyAfter, NO_COPY } from '../copies';
import { normalize } from '../distance';
import { keyOf } from '../keys';
import { isLive } from '../rows';
import { areaAt, ensureAnswers, ensureArea } from '../scratch';
import { writeHits } from '../search';
import { clearVisited, ensureVisited } from '../visited';
import { entryOf } from '../walk';
import { wideAt } from './codes';
import { nearOrdinal } from './near';
import { foldedBytes, foldedIn, foldQuery } from './query';
import { descendCodes, walkCodes } from './walk';
import { wideCosine, wideDot } from './wide';

/**
 * Finds the `k` rows nearest to the input area among the `rerank` best of a walk of breadth `ef`, and writes them as `search` of
 * ../search.ts does. Answers how many, or FULL. Requires a code for every row, and k <= rerank <= ef.
 */
export function searchCodes(scratch: usize, codes: usize, root: usize, k: u32, ef: u32, rerank: u32): i32 {
  const entry = entryOf(root);
  const rowsEnd = atomic.load<u32>(root, ROOT_ROWS_END);
  const rowBytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  const room = ensureArea(scratch, SCRATCH_QUERY, rowBytes + foldedBytes(codes)) && ensureArea(scratch, SCRATCH_POOL, <usize>ef << 3);
  if (!room || !ensureVisited(scratch, rowsEnd) || !ensureAnswers(scratch, k)) return FULL;
  clearBest(scratch, k);
  if (entry == NONE) return 0;
  const query = areaAt(scratch, SCRATCH_QUERY);
  const wide = query + rowBytes;
  normalize(areaAt(scratch, SCRATCH_INPUT), query, load<u32>(root, ROOT_DIM), rowBytes);
  foldQuery(codes, query, wide);
  clearVisited(scratch, rowsEnd);
  const folded = foldedIn(codes, wide);
  const found = walkCodes(scratch, codes, root, folded, descendCodes(scratch, codes, root, folded, entry), ef, rowsEnd);
  scoreAgain(scratch, codes, root, wide, min(found, rerank));
  return writeHits(scratch, root, k);
}

/** Offers the first `count` of the pool, and copies of them, by their exact scores. */
function scoreAgain(scratch: usize, codes: usize, root: usize, wide: usize, count: u32): void {
  const pool = areaAt(scratch, SCRATCH_POOL);
  const bytes: usize = load<u32>(codes, CODES_WIDE_BYTES);
  let touched: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = wideAt(codes, nearOrdinal(load<i64>(pool + (<usize>i << 3))));
    for (let at = row; at < row + bytes; at += LINE_BYTES) touched ^= load<u8>(at);
  }
  store<u32>(scratch, touched, TOUCHED);
  for (let i: u32 = 0; i < count; i++) {
    const node = nearOrdinal(load<i64>(pool + (<usize>i << 3)));
    const score = wideCosine(wideDot(wideAt(codes, node), wide, bytes));
    if (isLive(root, node)) offer(scratch, keyOf(score, node));
    for (let copy = copyAfter(root, node); copy != NO_COPY; copy = copyAfter(root, copy)) offer(scratch, keyOf(score, copy));
  }
}
