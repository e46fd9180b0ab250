// The k nearest rows of an index, exact or through the graph, with scores and stamps. Any thread, each with its own
// scratch. What is written meanwhile is noticed by its stamp, and such hits are scored again
// (memory-layout.md, rule 11).
import {
  BEST_SIZE,
  FULL,
  GUIDE_CODES,
  GUIDE_SCALE,
  JUDGED,
  NONE,
  OK,
  ROOT_GRAPH,
  ROOT_ROWS_END,
  ROOT_TRUSTED,
  ROOT_TRUSTED_BROAD,
  ROOT_WATERMARK,
  ROW_STAMP,
  SCAN_CODES,
  SCAN_RERANK,
  SCAN_ROWS,
  SCRATCH_BEST,
  SCRATCH_OUTPUT,
  STAMP_AT,
} from '../../memory/layout';
import { isAllowed, isFiltered, keepAllowed, reachable, setFilter } from './filtered-search';
import { batched, isLive, rowWordsAt } from '../memory/row-blocks';
import {
  bestBound,
  clearBest,
  countFrom,
  isBestFull,
  keyOf,
  offer,
  ordinalOf,
  scoreOf,
  sortBest,
} from '../memory/top-k';
import { scanCodes, scanQueue, scanRange, scoreSome } from './scan';
import { cosine, ensureQuery, floatBytes, operandIn, prepareQuery, toFloats } from '../quantization/distance';
import { copyAfter, COPY_REACH } from './duplicate-vectors';
import { areaAt, ensureAnswers, ensureArea, fence } from '../memory/scratch';
import { beginGuide } from '../quantization/distance-estimator';
import { clearVisited, ensureNear, ensureVisited, nearAt, nearScore, takeNear, visit } from './candidates';
import { entryOf } from './graph';
import { descend, patienceOf, walk } from './graph-search';

/** A search beside a busy writer may lose hits while it runs; it is then done again, this often at most. */
const ATTEMPTS_MAX = 4;
/** A walk that finds fewer candidates than so many for each hit, as under a filter that few near rows fit, is no good. */
const CANDIDATES_PER_HIT: u32 = 2;
/** Of what a scan of the codes finds so many rows are scored where SCAN_RERANK is not enough. */
const SCAN_RERANK_MAX: u32 = 1024;
/** Of what a row's code leaves open. */
const DEVIATIONS: f64 = 3;

/**
 * Finds the `k` rows nearest to the input area and writes ordinals, stamps and cosines, best first, equal ones by
 * ordinal, to the output area as three arrays of `k` words. Answers how many, or FULL. `allowed` is the number of
 * ordinals in the bitmap of those that may be answered, NONE for all.
 *
 * `ef` is the breadth of the walk, of which the `rerank` best are scored by their rows; SCAN_CODES asks for a scan of
 * the codes, 0 for one of the rows. `through`: the walk goes by rows that the filter does not admit as by others. A
 * walk that cannot be trusted is followed by one of breadth `broad`, where that can, else by `last`, a breadth,
 * SCAN_CODES or SCAN_ROWS; 0 for neither.
 */
export function search(
  scratch: usize,
  root: usize,
  k: u32,
  ef: u32,
  rerank: u32,
  allowed: u32,
  through: bool,
  broad: u32,
  last: u32,
): i32 {
  setFilter(scratch, allowed);
  const query = prepareQuery(scratch, root);
  if (!query || !ensureAnswers(scratch, max<u32>(k, JUDGED))) return FULL;
  let count: u32 = 0;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const stampBefore = atomic.load<u32>(STAMP_AT);
    // What found too few, among removed rows or beside a writer, is followed by a scan.
    const ranked = attempt == 1 && ef > 0 && rank(scratch, root, query, k, ef, rerank, through, broad, last);
    if (!ranked) scanAll(scratch, root, query, k);
    fence(scratch);
    count = writeHits(scratch, root, k);
    if (atomic.load<u32>(STAMP_AT) != stampBefore) count = recheckHits(scratch, root, query, k, count);
    if (count >= k || count >= reachable(scratch, root)) break;
  }
  return count;
}

/** Writes a row as floats of unit length to the output area. Answers OK, or FULL. */
export function readRow(scratch: usize, root: usize, ordinal: u32): i32 {
  if (!ensureQuery(scratch, root) || !ensureArea(scratch, SCRATCH_OUTPUT, floatBytes(root))) return FULL;
  toFloats(root, ordinal, areaAt(scratch, SCRATCH_OUTPUT), operandIn(scratch, root));
  return OK;
}

/**
 * Writes the cosines of the `count` rows whose ordinals stand at `ordinals` to the output area and answers `count`, or
 * FULL.
 */
export function scoresOf(scratch: usize, root: usize, ordinals: usize, count: u32): i32 {
  const query = prepareQuery(scratch, root);
  if (!query || !ensureArea(scratch, SCRATCH_OUTPUT, (<usize>count) << 2)) return FULL;
  scoreSome(scratch, root, query, ordinals, count);
  return count;
}

function scanAll(scratch: usize, root: usize, query: usize, k: u32): void {
  clearBest(scratch, max<u32>(k, JUDGED));
  scanRange(scratch, root, query, 0, atomic.load<u32>(root, ROOT_ROWS_END));
}

/** Ranks by codes and the graph; false where that cannot be done. */
function rank(
  scratch: usize,
  root: usize,
  query: usize,
  k: u32,
  ef: u32,
  rerank: u32,
  through: bool,
  broad: u32,
  last: u32,
): bool {
  if (ef == SCAN_CODES) return scanByCodes(scratch, root, query, k, rerank);
  const found = walkAndScan(scratch, root, query, k, ef, rerank, through);
  if (found < 0) return false;
  const isEnough = <u32>found >= CANDIDATES_PER_HIT * k;
  if (last == 0 || (isEnough && hasScores(scratch, load<f32>(root, ROOT_TRUSTED)))) return true;
  const again = broad && isEnough && hasScores(scratch, load<f32>(root, ROOT_TRUSTED_BROAD)) ? broad : last;
  if (again == SCAN_ROWS) return false;
  if (again == SCAN_CODES) return scanByCodes(scratch, root, query, k, max<u32>(rerank, SCAN_RERANK));
  return walkAndScan(scratch, root, query, k, again, max(rerank, again >> 1), through) >= 0;
}

/**
 * True where the JUDGED best have at least this score: a walk that ends where nothing is near may have missed an island
 * that is (engine/hnsw/recall-tuner.ts).
 */
function hasScores(scratch: usize, score: f32): bool {
  return countFrom(scratch, score) >= min<u32>(JUDGED, load<u32>(scratch, BEST_SIZE));
}

/**
 * Ranks by the codes of all rows, linked or not: the `rerank` best by their codes are scored by their rows, and where
 * the others might have been among the hits as well, more of them. False where the index has no codes, or they cannot
 * tell.
 */
function scanByCodes(scratch: usize, root: usize, query: usize, k: u32, rerank: u32): bool {
  const most = max(rerank << 2, SCAN_RERANK_MAX);
  if (!ensureNear(scratch, most)) return false;
  beginGuide(scratch, root, false);
  if (!load<u32>(scratch, GUIDE_CODES)) return false;
  const rowsEnd = atomic.load<u32>(root, ROOT_ROWS_END);
  return rankByCodes(scratch, root, query, k, rowsEnd, rerank) || rankByCodes(scratch, root, query, k, rowsEnd, most);
}

/**
 * The same with the `most` best; true where no other is likely to be a hit. What the codes leave open is seen in those
 * that are scored by both: the mean and the standard deviation of the difference say how near the best of the others may
 * be.
 */
function rankByCodes(scratch: usize, root: usize, query: usize, k: u32, rowsEnd: u32, most: u32): bool {
  const found = scanCodes(scratch, root, rowsEnd, most);
  const unit: f64 = <f64>1 / <f64>load<f32>(scratch, GUIDE_SCALE);
  let sum: f64 = 0;
  let squares: f64 = 0;
  clearBest(scratch, max<u32>(k, JUDGED));
  for (let place: u32 = 0; place < found; ) {
    const first = place;
    const taken = takeNear(scratch, root, place, found, found, true);
    place = taken >> 8;
    for (let i: u32 = 0; i < (taken & 255); i++) {
      const row = batched(scratch, i);
      const score = cosine(root, query, row);
      if (isLive(root, row)) offer(scratch, keyOf(score, row));
      const difference = <f64>score - <f64>nearScore(nearAt(scratch, first + i)) * unit;
      sum += difference;
      squares += difference * difference;
    }
  }
  if (found < most) return true;
  const mean = sum / <f64>found;
  const deviation = sqrt<f64>(max<f64>(0, squares / <f64>found - mean * mean));
  const nearest = <f64>nearScore(nearAt(scratch, found - 1)) * unit + mean + DEVIATIONS * deviation;
  return isBestFull(scratch) && <f64>scoreOf(bestBound(scratch)) >= nearest;
}

/**
 * Scans what is not in the graph, then walks the graph. In this order a row that the owner links meanwhile is found
 * twice rather than not at all; the second find is left out. Answers how many candidates may be answered, or -1: when
 * there is no graph, or it was reset or got another entry point meanwhile: the one that the walk began at may have left
 * before it, and led nowhere.
 */
function walkAndScan(scratch: usize, root: usize, query: usize, k: u32, ef: u32, rerank: u32, through: bool): i32 {
  const graph = atomic.load<u32>(root, ROOT_GRAPH);
  const watermark = atomic.load<u32>(root, ROOT_WATERMARK);
  const entry = entryOf(root);
  if (entry == NONE) return -1;
  const rowsEnd = atomic.load<u32>(root, ROOT_ROWS_END);
  const filtered = isFiltered(scratch) && !through;
  if (!ensureVisited(scratch, rowsEnd) || !ensureNear(scratch, ef)) return -1;
  clearVisited(scratch, rowsEnd);
  clearBest(scratch, max<u32>(k, JUDGED));
  scanRange(scratch, root, query, watermark, rowsEnd);
  scanQueue(scratch, root, query, rowsEnd);
  beginGuide(scratch, root, false);
  const start = descend(scratch, root, entry, 0);
  const nearest = through ? max(k, ef >> 2) : k;
  let found = walk(scratch, root, start, 0, ef, rowsEnd, filtered, nearest, patienceOf(ef));
  if (through) found = keepAllowed(scratch, root, found);
  offerFound(scratch, root, query, watermark, found, rerank);
  return atomic.load<u32>(root, ROOT_GRAPH) == graph && entryOf(root) == entry ? <i32>found : -1;
}

/**
 * Offers the live rows among the `rerank` best nodes and their copies that the filter admits, without those that have
 * been scanned.
 */
function offerFound(scratch: usize, root: usize, query: usize, watermark: u32, found: u32, rerank: u32): void {
  for (let place: u32 = 0, left = rerank; place < found && left > 0; ) {
    const taken = takeNear(scratch, root, place, found, left, true);
    place = taken >> 8;
    const count = taken & 255;
    left -= count;
    for (let i: u32 = 0; i < count; i++) offerNode(scratch, root, query, watermark, batched(scratch, i));
  }
}

/** @inline */
function offerNode(scratch: usize, root: usize, query: usize, watermark: u32, node: u32): void {
  const score = cosine(root, query, node);
  if (node < watermark && isAllowed(scratch, node) && isLive(root, node)) offer(scratch, keyOf(score, node));
  let copy = copyAfter(root, node);
  if (copy == NONE || (isBestFull(scratch) && score < scoreOf(bestBound(scratch)) - COPY_REACH)) return;
  for (; copy != NONE; copy = copyAfter(root, copy)) {
    if (copy < watermark && isAllowed(scratch, copy) && visit(scratch, copy))
      offer(scratch, keyOf(cosine(root, query, copy), copy));
  }
}

/** Writes the best to the output area, without those removed meanwhile. */
function writeHits(scratch: usize, root: usize, k: u32): u32 {
  const found = sortBest(scratch);
  const best = areaAt(scratch, SCRATCH_BEST);
  let count: u32 = 0;
  for (let i: u32 = 0; i < found && count < k; i++) {
    const key = load<u64>(best + ((<usize>i) << 3));
    const stamp = atomic.load<u32>(rowWordsAt(root, ordinalOf(key)), ROW_STAMP);
    if (stamp & 1) writeHit(areaAt(scratch, SCRATCH_OUTPUT), k, count++, ordinalOf(key), stamp, scoreOf(key));
  }
  return count;
}

/**
 * Keeps the hits whose score is that of the row version their stamp names: rows were published while the search ran.
 */
function recheckHits(scratch: usize, root: usize, query: usize, k: u32, found: u32): u32 {
  const output = areaAt(scratch, SCRATCH_OUTPUT);
  let count: u32 = 0;
  for (let i: u32 = 0; i < found; i++) {
    const ordinal = load<u32>(output + ((<usize>i) << 2));
    const stamp = load<u32>(output + ((<usize>(k + i)) << 2));
    const score = load<f32>(output + ((<usize>(2 * k + i)) << 2));
    const scoreNow = cosine(root, query, ordinal);
    fence(scratch);
    if (scoreNow == score && atomic.load<u32>(rowWordsAt(root, ordinal), ROW_STAMP) == stamp)
      writeHit(output, k, count++, ordinal, stamp, score);
  }
  return count;
}

/** @inline */
function writeHit(output: usize, k: u32, place: u32, ordinal: u32, stamp: u32, score: f32): void {
  store<u32>(output + ((<usize>place) << 2), ordinal);
  store<u32>(output + ((<usize>(k + place)) << 2), stamp);
  store<f32>(output + ((<usize>(2 * k + place)) << 2), score);
}
