// The k nearest rows of an index, exact or through the graph, with scores and stamps. Any thread, each with its own
// scratch. What is written meanwhile is noticed by its stamp, and such hits are scored again (README.md, rule 11).
import {
  FULL,
  NONE,
  OK,
  ROOT_GRAPH,
  ROOT_ROWS_END,
  ROOT_WATERMARK,
  SCRATCH_BEST,
  SCRATCH_OUTPUT,
  STAMP_AT,
} from '../layout';
import { isAllowed, isFiltered, reachable, setFilter } from './allowed';
import { batched } from './batch';
import { bestBound, clearBest, isBestFull, offer, sortBest } from './best';
import { floatBytes, toFloats } from './codes/floats';
import { copyAfter, COPY_REACH, NO_COPY } from './copies';
import { cosine } from './distance';
import { fence } from './fence';
import { beginGuide } from './guide';
import { keyOf, ordinalOf, scoreOf } from './keys';
import { ensureNear } from './near';
import { ensureQuery, operandIn, prepareQuery } from './query';
import { takeNear } from './rescore';
import { isLive, rowWordsAt } from './rows';
import { scanQueue, scanRange, scoreSome } from './scan';
import { areaAt, ensureAnswers, ensureArea } from './scratch';
import { clearVisited, ensureVisited, visit } from './visited';
import { descend, entryOf, patienceOf, walk } from './walk';

/** A search beside a busy writer may lose hits while it runs; it is then done again, this often at most. */
const ATTEMPTS_MAX = 4;

/**
 * Finds the `k` rows nearest to the input area and writes ordinals, stamps and cosines, best first, equal ones by
 * ordinal, to the output area as three arrays of `k` words. Answers how many, or FULL. `ef` is the breadth of the walk,
 * of which the `rerank` best are scored by their rows; 0 asks for a scan. `allowed` is the number of ordinals in the
 * bitmap of those that may be answered, NONE for all.
 */
export function search(scratch: usize, root: usize, k: u32, ef: u32, rerank: u32, allowed: u32): i32 {
  setFilter(scratch, allowed);
  const query = prepareQuery(scratch, root);
  if (!query || !ensureAnswers(scratch, k)) return FULL;
  let count: u32 = 0;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const stampBefore = atomic.load<u32>(STAMP_AT);
    // A walk that found too few, among removed rows or beside a writer, is followed by a scan.
    const walked = attempt == 1 && ef > 0 && walkAndScan(scratch, root, query, k, ef, rerank);
    if (!walked) scanAll(scratch, root, query, k);
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
  clearBest(scratch, k);
  scanRange(scratch, root, query, 0, atomic.load<u32>(root, ROOT_ROWS_END));
}

/**
 * Scans what is not in the graph, then walks the graph. In this order a row that the owner links meanwhile is found
 * twice rather than not at all; the second find is left out. False when there is no graph, or it was reset or got
 * another entry point meanwhile: the one that the walk began at may have left before it, and led nowhere.
 */
function walkAndScan(scratch: usize, root: usize, query: usize, k: u32, ef: u32, rerank: u32): bool {
  const graph = atomic.load<u32>(root, ROOT_GRAPH);
  const watermark = atomic.load<u32>(root, ROOT_WATERMARK);
  const entry = entryOf(root);
  if (entry == NONE) return false;
  const rowsEnd = atomic.load<u32>(root, ROOT_ROWS_END);
  const filtered = isFiltered(scratch);
  if (!ensureVisited(scratch, rowsEnd) || !ensureNear(scratch, ef)) return false;
  clearVisited(scratch, rowsEnd);
  clearBest(scratch, k);
  scanRange(scratch, root, query, watermark, rowsEnd);
  scanQueue(scratch, root, query, rowsEnd);
  beginGuide(scratch, root, false);
  const found = walk(scratch, root, descend(scratch, root, entry, 0), 0, ef, rowsEnd, filtered, k, patienceOf(ef));
  offerFound(scratch, root, query, watermark, found, rerank);
  return atomic.load<u32>(root, ROOT_GRAPH) == graph && entryOf(root) == entry;
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
  if (copy == NO_COPY || (isBestFull(scratch) && score < scoreOf(bestBound(scratch)) - COPY_REACH)) return;
  for (; copy != NO_COPY; copy = copyAfter(root, copy)) {
    if (copy < watermark && isAllowed(scratch, copy) && visit(scratch, copy))
      offer(scratch, keyOf(cosine(root, query, copy), copy));
  }
}

/** Writes the best to the output area, without those removed meanwhile. */
function writeHits(scratch: usize, root: usize, k: u32): u32 {
  const found = sortBest(scratch);
  const best = areaAt(scratch, SCRATCH_BEST);
  let count: u32 = 0;
  for (let i: u32 = 0; i < found; i++) {
    const key = load<u64>(best + ((<usize>i) << 3));
    const stamp = atomic.load<u32>(rowWordsAt(root, ordinalOf(key)));
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
    if (scoreNow == score && atomic.load<u32>(rowWordsAt(root, ordinal)) == stamp)
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
