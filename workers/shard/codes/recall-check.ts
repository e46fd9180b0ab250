// What recall the searches of an index have: a sample of questions is answered by scans of the rows, then by the ways
// that searches go, and where the answers of walks get worse, as the nearest get farther, is where they are no longer
// trusted. A slice of work for each `next()`, so that the owner can do other things between. Owner's thread; used by
// tending.ts.
//
// Questions are made of rows. Real ones lie farther from their nearest than rows do, and how much farther differs from
// user to user; but at the same distance of the tenth nearest a walk finds of all kinds of them about the same. So the
// sample has questions at all distances: rows moved towards another row, and rows moved in a direction in which rows
// differ. At the same distance walks find less of the former and more of the latter than of real ones.
import { scanFor, walkOf } from '../breadth.js';
import type { Hits, SearchOptions } from '../hits.js';
import { JUDGED as K } from '../layout.js';
import type { Way } from '../breadth.js';

/** What is checked: the index, as far as it is needed. */
export interface Checked {
  readonly end: number;
  isLive(ordinal: number): boolean;
  /** The row as a vector of unit length. */
  rowOf(ordinal: number): Float32Array;
  search(query: Float32Array, k: number, options: SearchOptions): Hits;
  searchBy(query: Float32Array, k: number, way: Way): Hits;
}

/** A question, and the score of the last of its `K` nearest. */
interface Question {
  readonly query: Float32Array;
  readonly kth: number;
}

/** What one way has found of the sample. */
interface Finding {
  /** The mean share of the nearest. */
  readonly mean: number;
  /** The share of the questions of which less than half has been found. */
  readonly lost: number;
}

export interface WalkFinding extends Finding {
  /** Where the score of the K-th that a walk finds is below it, the walk is not trusted. */
  readonly trusted: number;
  /** The share of all questions of which that is so; `mean` and `lost` are of the others. */
  readonly doubtful: number;
}

const QUESTIONS = 320;
/** A question is at least so much of a row. */
const ROW_SHARE_MIN = 0.35;
/** Turns of the golden section: shares that are spread evenly however many there are. */
const GOLDEN = 0.618_033_988_749_895;
/** Rows that a slice scans. */
const SLICE_ROWS = 8192;
/** Scores of the same rows are the same; others as near as this are as good. */
const TIE = 1e-6;
/** So many questions with scores side by side tell what a walk finds there. */
const WINDOW = 40;

/** The sample, spread over all rows. */
export function* askQuestions(index: Checked): Generator<undefined, Question[]> {
  const questions: Question[] = [];
  const step = Math.max(1, Math.floor(index.end / QUESTIONS));
  for (let ordinal = step >>> 1, i = 0; ordinal < index.end; ordinal += step, i++) {
    const [row, one, other] = [ordinal, ordinal + 7 * step, ordinal + 19 * step].map((at) => liveFrom(index, at));
    if (!row || !one || !other) break;
    const share = ROW_SHARE_MIN + (1 - ROW_SHARE_MIN) * ((i * GOLDEN) % 1);
    const query =
      i % 2 === 0
        ? row.map((value, at) => share * value + (1 - share) * one[at]!)
        : row.map((value, at) => share * value + ((1 - share) * (one[at]! - other[at]!)) / Math.SQRT2);
    if (!query.some((value) => value !== 0)) continue;
    const scores = yield* scan(index, query);
    if (scores.length > 0) questions.push({ query, kth: scores[Math.min(K, scores.length) - 1]! });
  }
  return questions;
}

/** The first live row from an ordinal on, around the end; undefined where none is near. */
function liveFrom(index: Checked, from: number): Float32Array | undefined {
  for (let i = 0; i < SLICE_ROWS; i++) {
    const ordinal = (from + i) % index.end;
    if (index.isLive(ordinal)) return index.rowOf(ordinal);
  }
  return undefined;
}

/** The best scores of all rows. */
function* scan(index: Checked, query: Float32Array): Generator<undefined, number[]> {
  let best: number[] = [];
  for (let from = 0; from < index.end; from += SLICE_ROWS) {
    const allowed = new Uint32Array((from + SLICE_ROWS) >>> 5);
    allowed.fill(0xffffffff, from >>> 5);
    const { scores } = index.search(query, K, { allowed, exact: true });
    best = [...best, ...scores].sort((a, b) => b - a).slice(0, K);
    yield;
  }
  return best;
}

/** What scans of the codes find. */
export function* checkCodes(index: Checked, questions: readonly Question[]): Generator<undefined, Finding> {
  const shares: number[] = [];
  for (const question of questions) {
    shares.push(shareOf(index.searchBy(question.query, K, scanFor(K)), question));
    yield;
  }
  return findingOf(shares);
}

/** What walks of breadth `ef` find, and from which score on they can be trusted to find `enough` of the nearest. */
export function* checkWalks(
  index: Checked,
  questions: readonly Question[],
  ef: number,
  enough: number,
): Generator<undefined, WalkFinding> {
  const found: { readonly score: number; readonly share: number }[] = [];
  for (const question of questions) {
    const hits = index.searchBy(question.query, K, walkOf(ef, K));
    found.push({ score: hits.scores.at(-1) ?? -1, share: shareOf(hits, question) });
    yield;
  }
  found.sort((a, b) => b.score - a.score);
  let trusted = 0;
  for (let end = 1; end <= found.length; end++) {
    const window = found.slice(Math.max(0, end - WINDOW), end).map(({ share }) => share);
    if (window.length >= WINDOW && meanOf(window) < enough) break;
    trusted = end;
  }
  // A window that is not good enough began to be so within: none of it counts.
  if (trusted < found.length) trusted = Math.max(0, trusted - (WINDOW >> 1));
  return {
    ...findingOf(found.slice(0, trusted).map(({ share }) => share)),
    trusted: found[trusted - 1]?.score ?? 2,
    doubtful: found.length > 0 ? 1 - trusted / found.length : 0,
  };
}

const shareOf = ({ scores }: Hits, { kth }: Question): number =>
  Math.min(1, scores.filter((score) => score >= kth - TIE).length / K);

const findingOf = (shares: readonly number[]): Finding => ({
  mean: meanOf(shares),
  lost: shares.filter((share) => share < 0.5).length / Math.max(1, shares.length),
});

/** 1 without any. */
const meanOf = (shares: readonly number[]): number =>
  shares.length > 0 ? shares.reduce((sum, share) => sum + share, 0) / shares.length : 1;
