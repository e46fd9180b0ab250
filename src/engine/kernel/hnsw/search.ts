// Finds the k nearest rows of an index, exactly or through the graph, with their scores and row versions. Any thread,
// each with its own scratch. Hits whose rows may have been written during the search are detected by the row version
// and are scored again (memory-layout.md, rule 11).
import {
  BEST_SIZE,
  ESTIMATOR_QUANTIZER,
  ESTIMATOR_SCALE,
  FULL,
  JUDGED,
  LAST_ROW_VERSION_AT,
  NONE,
  OK,
  ROOT_GRAPH,
  ROOT_INDEXED_TO,
  ROOT_ROWS_END,
  ROOT_TRUSTED,
  ROOT_TRUSTED_BROAD,
  ROW_VERSION,
  SCAN_QUANTIZED,
  SCAN_RERANK,
  SCAN_ROWS,
  SCRATCH_BEST,
  SCRATCH_OUTPUT,
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
import { scanQuantized, scanQueue, scanRange, scoreSome } from './scan';
import { cosine, ensureQuery, floatBytes, operandIn, prepareQuery, toFloats } from '../quantization/distance';
import { duplicateAfter, DUPLICATE_REACH } from './duplicate-vectors';
import { areaAt, ensureAnswers, ensureArea, fence } from '../memory/scratch';
import { prepareEstimator } from '../quantization/distance-estimator';
import { clearVisited, ensureNear, ensureVisited, nearAt, nearScore, takeNear, visit } from './candidates';
import { entryOf } from './graph';
import { descend, earlyStopOf, searchLevel } from './graph-search';

/** The maximum number of attempts of a search, which is repeated when concurrent writes have cost it hits. */
const ATTEMPTS_MAX = 4;
/**
 * A graph search that finds fewer candidates for each hit, as under a filter that admits few near rows, is not trusted.
 */
const CANDIDATES_PER_HIT: u32 = 2;
/** The number of rows scored exactly after a scan of the quantized vectors when `SCAN_RERANK` rows are not enough. */
const SCAN_RERANK_MAX: u32 = 1024;
/**
 * The safety margin of a scan of quantized vectors, in standard deviations of the difference between exact and
 * estimated scores.
 */
const DEVIATIONS: f64 = 3;

/**
 * Finds the `k` rows nearest to the vector in the input area. Writes their ordinals, row versions and cosines (f32) to
 * the output area as three arrays of `k` words, best first, equal scores by ordinal. Returns the number of hits, or
 * FULL. `allowed` is the number of ordinals in the filter bitmap, NONE for no filter.
 *
 * `ef` is that of the graph search, of whose candidates the `rerank` best are scored by their rows; `SCAN_QUANTIZED`
 * scans all quantized vectors instead, and 0 scans all rows. With `through`, the graph search passes through rows that
 * the filter does not admit as through others, and the filter is applied to its candidates. A result that cannot be
 * trusted is followed by a graph search with `ef` = `broad`, if that can be trusted, else by `last`: an `ef`,
 * `SCAN_QUANTIZED` or `SCAN_ROWS`. With `broad` = 0 there is no broad search; with `last` = 0 the first result is
 * returned as it is.
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
    const rowVersionBefore = atomic.load<u32>(LAST_ROW_VERSION_AT);
    // A search that found too few hits, because of removed rows or concurrent writes, is followed by a scan.
    const ranked = attempt == 1 && ef > 0 && rank(scratch, root, query, k, ef, rerank, through, broad, last);
    if (!ranked) scanAll(scratch, root, query, k);
    fence(scratch);
    count = writeHits(scratch, root, k);
    if (atomic.load<u32>(LAST_ROW_VERSION_AT) != rowVersionBefore) count = recheckHits(scratch, root, query, k, count);
    if (count >= k || count >= reachable(scratch, root)) break;
  }
  return count;
}

/** Writes a row to the output area as floats of unit length. Returns OK, or FULL. */
export function readRow(scratch: usize, root: usize, ordinal: u32): i32 {
  if (!ensureQuery(scratch, root) || !ensureArea(scratch, SCRATCH_OUTPUT, floatBytes(root))) return FULL;
  toFloats(root, ordinal, areaAt(scratch, SCRATCH_OUTPUT), operandIn(scratch, root));
  return OK;
}

/**
 * Writes the cosines (f32) of the rows whose `count` ordinals stand at `ordinals` to the output area, and NaN for rows
 * that are not live. Returns `count`, or FULL.
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

/** Ranks by quantized vectors or through the graph. False when a scan of the rows must follow. */
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
  if (ef == SCAN_QUANTIZED) return rankByScan(scratch, root, query, k, rerank);
  const found = searchGraphAndScan(scratch, root, query, k, ef, rerank, through);
  if (found < 0) return false;
  const isEnough = <u32>found >= CANDIDATES_PER_HIT * k;
  if (last == 0 || (isEnough && hasScores(scratch, load<f32>(root, ROOT_TRUSTED)))) return true;
  const again = broad && isEnough && hasScores(scratch, load<f32>(root, ROOT_TRUSTED_BROAD)) ? broad : last;
  if (again == SCAN_ROWS) return false;
  if (again == SCAN_QUANTIZED) return rankByScan(scratch, root, query, k, max<u32>(rerank, SCAN_RERANK));
  return searchGraphAndScan(scratch, root, query, k, again, max(rerank, again >> 1), through) >= 0;
}

/**
 * True when the JUDGED best all have at least this score. A graph search that ends with lower scores may have missed an
 * island of nearer rows (engine/hnsw/recall-tuner.ts).
 */
function hasScores(scratch: usize, score: f32): bool {
  return countFrom(scratch, score) >= min<u32>(JUDGED, load<u32>(scratch, BEST_SIZE));
}

/**
 * Ranks by the quantized vectors of all rows, linked or not. The `rerank` best are scored by their rows, and more of
 * them when one of the others may be a hit. False when the index has no quantized vectors, or when they cannot decide.
 */
function rankByScan(scratch: usize, root: usize, query: usize, k: u32, rerank: u32): bool {
  const most = max(rerank << 2, SCAN_RERANK_MAX);
  if (!ensureNear(scratch, most)) return false;
  prepareEstimator(scratch, root, false);
  if (!load<u32>(scratch, ESTIMATOR_QUANTIZER)) return false;
  const rowsEnd = atomic.load<u32>(root, ROOT_ROWS_END);
  return (
    rankByQuantized(scratch, root, query, k, rowsEnd, rerank) || rankByQuantized(scratch, root, query, k, rowsEnd, most)
  );
}

/**
 * Scores the `most` best by their rows, and returns true when no other row is likely to be a hit. The rows scored both
 * ways give the mean and the standard deviation of the estimator's error, from which the possible score of the best
 * other row follows.
 */
function rankByQuantized(scratch: usize, root: usize, query: usize, k: u32, rowsEnd: u32, most: u32): bool {
  const found = scanQuantized(scratch, root, rowsEnd, most);
  const unit: f64 = <f64>1 / <f64>load<f32>(scratch, ESTIMATOR_SCALE);
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
 * Scans the unindexed rows, and then searches the graph. In this order a row that the owner links meanwhile is found
 * twice rather than not at all; the second find is left out. Returns the number of candidates, or -1 when there is no
 * graph, or when the graph was reset or its entry point was replaced meanwhile: the entry point may have been removed
 * before the search began and have led nowhere.
 */
function searchGraphAndScan(
  scratch: usize,
  root: usize,
  query: usize,
  k: u32,
  ef: u32,
  rerank: u32,
  through: bool,
): i32 {
  const graph = atomic.load<u32>(root, ROOT_GRAPH);
  const indexedTo = atomic.load<u32>(root, ROOT_INDEXED_TO);
  const entry = entryOf(root);
  if (entry == NONE) return -1;
  const rowsEnd = atomic.load<u32>(root, ROOT_ROWS_END);
  const filtered = isFiltered(scratch) && !through;
  if (!ensureVisited(scratch, rowsEnd) || !ensureNear(scratch, ef)) return -1;
  clearVisited(scratch, rowsEnd);
  clearBest(scratch, max<u32>(k, JUDGED));
  scanRange(scratch, root, query, indexedTo, rowsEnd);
  scanQueue(scratch, root, query, rowsEnd);
  prepareEstimator(scratch, root, false);
  const start = descend(scratch, root, entry, 0);
  const nearest = through ? max(k, ef >> 2) : k;
  let found = searchLevel(scratch, root, start, 0, ef, rowsEnd, filtered, nearest, earlyStopOf(ef));
  if (through) found = keepAllowed(scratch, root, found);
  offerFound(scratch, root, query, indexedTo, found, rerank);
  return atomic.load<u32>(root, ROOT_GRAPH) == graph && entryOf(root) == entry ? <i32>found : -1;
}

/**
 * Offers the admitted live rows of the `rerank` best nodes and of their duplicates, without those that have been
 * scanned.
 */
function offerFound(scratch: usize, root: usize, query: usize, indexedTo: u32, found: u32, rerank: u32): void {
  for (let place: u32 = 0, left = rerank; place < found && left > 0; ) {
    const taken = takeNear(scratch, root, place, found, left, true);
    place = taken >> 8;
    const count = taken & 255;
    left -= count;
    for (let i: u32 = 0; i < count; i++) offerNode(scratch, root, query, indexedTo, batched(scratch, i));
  }
}

/** @inline */
function offerNode(scratch: usize, root: usize, query: usize, indexedTo: u32, node: u32): void {
  const score = cosine(root, query, node);
  if (node < indexedTo && isAllowed(scratch, node) && isLive(root, node)) offer(scratch, keyOf(score, node));
  let duplicate = duplicateAfter(root, node);
  if (duplicate == NONE || (isBestFull(scratch) && score < scoreOf(bestBound(scratch)) - DUPLICATE_REACH)) return;
  for (; duplicate != NONE; duplicate = duplicateAfter(root, duplicate)) {
    if (duplicate < indexedTo && isAllowed(scratch, duplicate) && visit(scratch, duplicate))
      offer(scratch, keyOf(cosine(root, query, duplicate), duplicate));
  }
}

/** Writes the best rows to the output area, without those removed meanwhile, and returns their number. */
function writeHits(scratch: usize, root: usize, k: u32): u32 {
  const found = sortBest(scratch);
  const best = areaAt(scratch, SCRATCH_BEST);
  let count: u32 = 0;
  for (let i: u32 = 0; i < found && count < k; i++) {
    const key = load<u64>(best + ((<usize>i) << 3));
    const rowVersion = atomic.load<u32>(rowWordsAt(root, ordinalOf(key)), ROW_VERSION);
    if (rowVersion & 1) writeHit(areaAt(scratch, SCRATCH_OUTPUT), k, count++, ordinalOf(key), rowVersion, scoreOf(key));
  }
  return count;
}

/**
 * Keeps the hits whose score still belongs to their row version, since rows were published while the search ran.
 * Returns their number.
 */
function recheckHits(scratch: usize, root: usize, query: usize, k: u32, found: u32): u32 {
  const output = areaAt(scratch, SCRATCH_OUTPUT);
  let count: u32 = 0;
  for (let i: u32 = 0; i < found; i++) {
    const ordinal = load<u32>(output + ((<usize>i) << 2));
    const rowVersion = load<u32>(output + ((<usize>(k + i)) << 2));
    const score = load<f32>(output + ((<usize>(2 * k + i)) << 2));
    const scoreNow = cosine(root, query, ordinal);
    fence(scratch);
    if (scoreNow == score && atomic.load<u32>(rowWordsAt(root, ordinal), ROW_VERSION) == rowVersion)
      writeHit(output, k, count++, ordinal, rowVersion, score);
  }
  return count;
}

/** @inline */
function writeHit(output: usize, k: u32, place: u32, ordinal: u32, rowVersion: u32, score: f32): void {
  store<u32>(output + ((<usize>place) << 2), ordinal);
  store<u32>(output + ((<usize>(k + place)) << 2), rowVersion);
  store<f32>(output + ((<usize>(2 * k + place)) << 2), score);
}
