// Scans in memory order: exact scoring of small indexes, of unindexed rows, and of rows whose scores are asked for; and
// scoring of all quantized vectors. Any thread.
import {
  ESTIMATOR_QUANTIZER,
  QUANTIZER_COMPONENTS_2,
  QUANTIZER_COMPONENTS_4,
  QUANTIZER_ROW_BLOCKS,
  QUANTIZER_ROW_BYTES,
  ROOT_QUEUE_HEAD,
  ROOT_QUEUE_TAIL,
  ROOT_ROWS_END,
  ROOT_ROW_BYTES,
  SCRATCH_OUTPUT,
  SCRATCH_POOL,
} from '../../memory/layout';
import { batched, hasRow, isLive, putInBatch, rowsToBlockEnd, shiftOf, slotOf, touch } from '../memory/row-blocks';
import { areaAt } from '../memory/scratch';
import { keyOf, offer } from '../memory/top-k';
import { cosine, queryTableIn } from '../quantization/distance';
import { batchedScore, fourScores, scoreBatch } from '../quantization/distance-estimator';
import { quantizedAt } from '../quantization/quantized-vectors';
import { insertNear, nearKey, nearScore, visit } from './candidates';
import { allowedBits, filterEnd, isAllowed, isFiltered } from './filtered-search';
import { queued } from './graph-builder';

/** Rows of a filtered scan that are touched together. */
const TOUCHED_ROWS: u32 = 32;

/** Offers every live row of [from, end) that the filter admits to the k best. */
export function scanRange(scratch: usize, root: usize, query: usize, from: u32, end: u32): void {
  if (isFiltered(scratch)) {
    offerAllowed(scratch, root, query, from, filterEnd(scratch, end));
    return;
  }
  for (let ordinal = from; ordinal < end; ) {
    const blockEnd = min(end, ordinal + rowsToBlockEnd(ordinal));
    if (hasRow(root, ordinal)) offerBlock(scratch, root, query, ordinal, blockEnd);
    ordinal = blockEnd;
  }
}

/** Offers the live rows of a range within one block. */
function offerBlock(scratch: usize, root: usize, query: usize, from: u32, end: u32): void {
  for (let ordinal = from; ordinal < end; ordinal++) {
    if (isLive(root, ordinal)) offer(scratch, keyOf(cosine(root, query, ordinal), ordinal));
  }
}

/**
 * Offers the admitted live rows of a range. The work is proportional to the admitted rows, which are scattered, so they
 * are touched together before they are scored.
 */
function offerAllowed(scratch: usize, root: usize, query: usize, from: u32, end: u32): void {
  const first = from >> 5;
  let count: u32 = 0;
  for (let word = first; word << 5 < end; word++) {
    const bits = allowedBits(scratch, word, end);
    for (let left = word == first ? bits & (-1 << (from & 31)) : bits; left; left &= left - 1) {
      const ordinal = (word << 5) + ctz(left);
      if (!hasRow(root, ordinal) || !isLive(root, ordinal)) continue;
      putInBatch(scratch, count++, ordinal);
      if (count == TOUCHED_ROWS) count = offerBatch(scratch, root, query, count);
    }
  }
  offerBatch(scratch, root, query, count);
}

/** Offers the `count` rows in BATCH to the k best. Returns 0, the number of rows then in BATCH. */
function offerBatch(scratch: usize, root: usize, query: usize, count: u32): u32 {
  touch(scratch, root, count, load<u32>(root, ROOT_ROW_BYTES));
  for (let i: u32 = 0; i < count; i++) {
    const ordinal = batched(scratch, i);
    offer(scratch, keyOf(cosine(root, query, ordinal), ordinal));
  }
  return 0;
}

/**
 * Offers the admitted live rows of the relink queue and marks them as visited, so that the following graph search does
 * not return them again. The head is loaded before the tail and so is never ahead of it. Rows at or above `rowsEnd`
 * have no place in the visited set and are skipped; the queue gets such rows while the search runs.
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
 * Writes the cosines of the rows whose `count` ordinals stand at `ordinals` to the output area, with NaN for a row that
 * is not live.
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

/** Quantized vectors of a filtered scan that are touched together. */
const TOUCHED_QUANTIZED: u32 = 32;

/**
 * Fills the candidates with the `most` admitted live rows below `end` whose quantized vectors score best, and returns
 * their number. Requires a distance estimator by quantized vectors, and room for the candidates. It takes an eighth of
 * the time of a scan of the rows. Quantized vectors are contiguous in their blocks and are scored four at a time; under
 * a filter the admitted ones are scored in batches.
 */
export function scanQuantized(scratch: usize, root: usize, end: u32, most: u32): u32 {
  const quantizer: usize = load<u32>(scratch, ESTIMATOR_QUANTIZER);
  if (isFiltered(scratch)) return scanAllowed(scratch, root, quantizer, filterEnd(scratch, end), most);
  let size: u32 = 0;
  for (let ordinal: u32 = 0; ordinal < end; ) {
    const blockEnd = min(end, ordinal + rowsToBlockEnd(ordinal));
    if (hasRow(root, ordinal) && hasQuantized(quantizer, ordinal))
      size = scanBlock(scratch, root, quantizer, ordinal, blockEnd, most, size);
    ordinal = blockEnd;
  }
  return size;
}

/** @inline */
function hasQuantized(quantizer: usize, ordinal: u32): bool {
  return load<u32>(quantizer + slotOf(ordinal, shiftOf(ordinal)), QUANTIZER_ROW_BLOCKS) != 0;
}

/** Scans the rows [from, end) of one block and returns the number of candidates. */
function scanBlock(scratch: usize, root: usize, quantizer: usize, from: u32, end: u32, most: u32, before: u32): u32 {
  const pool = areaAt(scratch, SCRATCH_POOL);
  const table = queryTableIn(scratch, root);
  const bytes4: usize = load<u32>(quantizer, QUANTIZER_COMPONENTS_4) >> 1;
  const bytes2: usize = load<u32>(quantizer, QUANTIZER_COMPONENTS_2) >> 2;
  const rowBytes: usize = load<u32>(quantizer, QUANTIZER_ROW_BYTES);
  const last = quantizedAt(quantizer, from) + <usize>(end - 1 - from) * rowBytes;
  const scoresAt = pool + ((<usize>most + 2) << 3);
  let size = before;
  let bar = barOf(pool, size, most);
  let a = quantizedAt(quantizer, from);
  for (let ordinal = from; ordinal < end; ordinal += 4, a += 4 * rowBytes) {
    const b = min(a + rowBytes, last);
    const c = min(b + rowBytes, last);
    const d = min(c + rowBytes, last);
    const scores = fourScores(a, b, c, d, table, bytes4, bytes2);
    if (!v128.any_true(i32x4.gt_s(scores, i32x4.splat(bar)))) continue;
    v128.store(scoresAt, scores);
    for (let i: u32 = 0; i < min<u32>(4, end - ordinal); i++)
      size = enter(pool, root, size, most, load<i32>(scoresAt + ((<usize>i) << 2)), ordinal + i);
    bar = barOf(pool, size, most);
  }
  return size;
}

function scanAllowed(scratch: usize, root: usize, quantizer: usize, end: u32, most: u32): u32 {
  let size: u32 = 0;
  let count: u32 = 0;
  for (let word: u32 = 0; word << 5 < end; word++) {
    for (let bits = allowedBits(scratch, word, end); bits; bits &= bits - 1) {
      const ordinal = (word << 5) + ctz(bits);
      if (!hasRow(root, ordinal) || !hasQuantized(quantizer, ordinal)) continue;
      putInBatch(scratch, count++, ordinal);
      if (count < TOUCHED_QUANTIZED) continue;
      size = enterBatch(scratch, root, count, most, size);
      count = 0;
    }
  }
  return count > 0 ? enterBatch(scratch, root, count, most, size) : size;
}

/** Scores the first `count` of BATCH, enters them and returns the number of candidates. */
function enterBatch(scratch: usize, root: usize, count: u32, most: u32, before: u32): u32 {
  const pool = areaAt(scratch, SCRATCH_POOL);
  scoreBatch(scratch, root, count);
  let size = before;
  for (let i: u32 = 0; i < count; i++)
    size = enter(pool, root, size, most, batchedScore(scratch, i), batched(scratch, i));
  return size;
}

/** The score that a row must exceed to become a candidate. @inline */
function barOf(pool: usize, size: u32, most: u32): i32 {
  return size < most ? i32.MIN_VALUE : nearScore(load<i64>(pool + ((<usize>(size - 1)) << 3)));
}

/** Enters a live row that is among the `most` best, and returns the number of candidates. @inline */
function enter(pool: usize, root: usize, size: u32, most: u32, score: i32, ordinal: u32): u32 {
  if (score <= barOf(pool, size, most) || !isLive(root, ordinal)) return size;
  insertNear(pool, min(size, most - 1), nearKey(score, ordinal, true));
  return min(size + 1, most);
}
