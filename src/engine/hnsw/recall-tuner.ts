// The recall tuner of one index: it decides when quantized vectors are built and rebuilt, and keeps recall at its
// target. As the index grows, the principal components are trained again at each doubling, and searches for a sample of
// queries are compared with scans. If recall is too low, `ef` is raised first, then quantized vectors get longer, and
// at last graph searches use full rows. `VectorIndex` runs one slice with each `indexSome`. Progress is stored in the
// root of the index, so that an index restored from a checkpoint continues where it was. Owner only.
import type { SearchParams } from '../../api/search.js';
import type { Instance } from '../memory/bindings.js';
import {
  EF_MIN,
  JUDGED as K,
  NONE,
  ROOT_CHECKED,
  ROOT_CHECK_AT,
  ROOT_DIM,
  ROOT_EF,
  ROOT_LEARN_AT,
  ROOT_LIVE,
  ROOT_QUANTIZATION,
  ROOT_QUANTIZER,
  ROOT_QUANTIZER_NEXT,
  ROOT_TRUSTED,
  SCAN_QUANTIZED,
} from '../memory/layout.js';
import { type Quantization, learn, quantizationsFor } from '../quantization/training.js';
import {
  BROAD,
  type Hits,
  QUANTIZED_SCANNED,
  type SearchScope,
  type Way,
  graphSearchOf,
  scanFor,
} from './search-plan.js';

// A check makes its queries from rows. Real queries lie farther from their nearest neighbours than rows do, and how
// much farther differs between users; but at the same distance of the tenth neighbour a graph search finds about the
// same share for all kinds of queries. The sample therefore has queries at all distances, of two kinds: rows moved
// towards another row, and rows moved along the difference of two rows. At the same distance, graph searches find less
// of the former and more of the latter than of real queries. Graph searches are trusted above the score at which no
// query of the sample is lost and recall is high enough.

/** The index that is checked, reduced to what a check needs. */
interface Checked {
  readonly end: number;
  isLive(ordinal: number): boolean;
  /** The row as a vector of unit length. */
  rowOf(ordinal: number): Float32Array;
  search(query: Float32Array, k: number, params: SearchParams, scope: SearchScope): Hits;
  searchBy(query: Float32Array, k: number, way: Way): Hits;
}

/** A query of the sample, and the score of the last of its `K` nearest. */
interface Question {
  readonly query: Float32Array;
  readonly kth: number;
}

/** What one way of searching has found of the sample. */
interface Finding {
  /** Mean recall. */
  readonly mean: number;
  /** Share of the queries of which less than half was found. */
  readonly lost: number;
}

interface GraphFinding {
  /** A graph search whose K-th score is below this value is not trusted. */
  readonly trusted: number;
  /** Share of all queries that fall below it. */
  readonly doubtful: number;
  /** Mean recall of the other queries. */
  readonly mean: number;
}

/** A query that a graph search has answered: the score of its K-th hit, and its recall. */
interface Answered {
  readonly score: number;
  readonly share: number;
}

/** What trusted graph searches must achieve. */
interface Demand {
  /** Minimum recall@10 in a window of queries with neighbouring scores. Real queries are easier. */
  readonly recall: number;
  /**
   * If graph searches lose more than this share of all queries, they may also lose queries with better scores than any
   * seen.
   */
  readonly manyLost: number;
  /** Share of all queries that may be lost if few are. */
  readonly spared: number;
}
const TRUSTED: Demand = { recall: 0.94, manyLost: 0.04, spared: 0.002 };
/**
 * The demand on broad graph searches. It is lower, because the scan of the quantized vectors that follows costs as much
 * as several broad searches.
 */
const TRUSTED_BROAD: Demand = { recall: 0.85, manyLost: 0.015, spared: 0.005 };
/** Number of queries answered by exact scans. Scans of quantized vectors are judged by them. */
const QUESTIONS = 320;
/**
 * Number of queries by which graph searches are judged: many, because few are lost. At most one for every
 * ROWS_PER_GRAPH_QUESTION rows, and fewer if exact scans must answer them.
 */
const GRAPH_QUESTIONS = 1000;
const ROWS_PER_GRAPH_QUESTION = 8;
const NUMBERS_SCANNED = 256 * GRAPH_QUESTIONS;
/** Minimum weight of the row in a query that is made from it. */
const ROW_SHARE_MIN = 0.35;
/** The golden section, whose multiples modulo 1 are spread evenly whatever their number. */
const GOLDEN = 0.618_033_988_749_895;
/** Rows that one slice scans. */
const SLICE_ROWS = 8192;
/** Tolerance when scores are compared: a score this near to the K-th counts as found. */
const TIE = 1e-6;
/**
 * Window over queries with neighbouring scores from which their recall is estimated: its least size, and its least
 * share of all queries.
 */
const WINDOW = 40;
const WINDOW_SHARE = 0.125;
/** Share of the sample, at its lowest scores, that is too sparse for any statement. */
const SPARSE_SHARE = 0.02;
/**
 * If graph searches lose many queries, other queries than the sampled ones will be lost at better scores than the best
 * lost one. The trusted score therefore lies above the best lost score by at least the distance between it and the
 * TAIL-th best lost score, and by at least this share of all queries.
 */
const TAIL = 10;
const TAIL_SHARE = 0.02;
/** A query with a lower recall counts as lost. */
const LOST_BELOW = 0.5;

/** The queries that are answered by exact scans, spread over all rows. */
function* askQuestions(index: Checked): Generator<undefined, Question[]> {
  const questions: Question[] = [];
  for (const query of queriesOf(index, QUESTIONS, 0)) {
    const scores = yield* scan(index, query);
    if (scores.length > 0) questions.push({ query, kth: scores[Math.min(K, scores.length) - 1]! });
  }
  return questions;
}

/** Further queries to judge graph searches by, answered by scans of the quantized vectors if these are reliable. */
function* askMore(index: Checked, byQuantized: boolean): Generator<undefined, Question[]> {
  const questions: Question[] = [];
  const dim = index.rowOf(0).length;
  const all = Math.min(
    GRAPH_QUESTIONS,
    Math.floor(index.end / ROWS_PER_GRAPH_QUESTION),
    byQuantized ? GRAPH_QUESTIONS : NUMBERS_SCANNED / dim,
  );
  for (const query of queriesOf(index, Math.floor(all) - QUESTIONS, QUESTIONS)) {
    const scores = byQuantized ? index.searchBy(query, K, scanFor(K)).scores : yield* scan(index, query);
    if (scores.length > 0) questions.push({ query, kth: scores[Math.min(K, scores.length) - 1]! });
    yield;
  }
  return questions;
}

/** Queries of both kinds. Those from `first` on lie between the earlier ones. */
function* queriesOf(index: Checked, count: number, first: number): Generator<Float32Array> {
  const step = Math.max(1, Math.floor(index.end / Math.max(1, count)));
  const span = Math.max(1, Math.floor(index.end / QUESTIONS));
  for (let ordinal = step >>> (first > 0 ? 2 : 1), i = first; ordinal < index.end && count > 0; ordinal += step, i++) {
    const [row, one, other] = [ordinal, ordinal + 7 * span, ordinal + 19 * span].map((at) => liveFrom(index, at));
    if (!row || !one || !other) break;
    const share = ROW_SHARE_MIN + (1 - ROW_SHARE_MIN) * ((i * GOLDEN) % 1);
    const query =
      i % 2 === 0
        ? row.map((value, at) => share * value + (1 - share) * one[at]!)
        : row.map((value, at) => share * value + ((1 - share) * (one[at]! - other[at]!)) / Math.SQRT2);
    if (query.some((value) => value !== 0)) yield query;
  }
}

/** The first live row from an ordinal on, wrapping around at the end; undefined if none is near. */
function liveFrom(index: Checked, from: number): Float32Array | undefined {
  for (let i = 0; i < SLICE_ROWS; i++) {
    const ordinal = (from + i) % index.end;
    if (index.isLive(ordinal)) return index.rowOf(ordinal);
  }
  return undefined;
}

/** The best scores of all rows, by an exact scan in slices. */
function* scan(index: Checked, query: Float32Array): Generator<undefined, number[]> {
  let best: number[] = [];
  for (let from = 0; from < index.end; from += SLICE_ROWS) {
    const allowed = new Uint32Array((from + SLICE_ROWS) >>> 5);
    allowed.fill(0xffffffff, from >>> 5);
    const { scores } = index.search(query, K, { exact: true }, { allowed });
    best = [...best, ...scores].sort((a, b) => b - a).slice(0, K);
    yield;
  }
  return best;
}

/** What scans of the quantized vectors find. */
function* checkQuantized(index: Checked, questions: readonly Question[]): Generator<undefined, Finding> {
  const shares: number[] = [];
  for (const question of questions) {
    shares.push(shareOf(index.searchBy(question.query, K, scanFor(K)), question));
    yield;
  }
  return findingOf(shares);
}

/** What graph searches with `ef` find, and from which score on they can be trusted. */
function* checkGraphSearches(
  index: Checked,
  questions: readonly Question[],
  ef: number,
  demand: Demand,
): Generator<undefined, GraphFinding> {
  const found: Answered[] = [];
  for (const question of questions) {
    const hits = index.searchBy(question.query, K, graphSearchOf(ef, K));
    found.push({ score: hits.scores.at(-1) ?? -1, share: shareOf(hits, question) });
    yield;
  }
  found.sort((a, b) => b.score - a.score);
  const least = aboveLost(found, demand);
  const trusted = found.slice(0, foundEnough(found, demand.recall)).filter(({ score }) => score > least);
  return {
    trusted: trusted.at(-1)?.score ?? 2,
    doubtful: found.length > 0 ? 1 - trusted.length / found.length : 0,
    mean: meanOf(trusted.map(({ share }) => share)),
  };
}

/** Number of queries, from the best score down, for which graph searches reach the demanded recall. */
function foundEnough(found: readonly Answered[], recall: number): number {
  const most = Math.max(0, found.length - Math.round(SPARSE_SHARE * found.length));
  const window = Math.max(WINDOW, Math.round(WINDOW_SHARE * found.length));
  for (let end = window; end <= found.length; end++) {
    // A window whose recall is too low became so somewhere inside it, so half of it is not counted.
    if (meanOf(found.slice(end - window, end).map(({ share }) => share)) < recall)
      return Math.min(most, Math.max(0, end - 1 - (window >> 1)));
  }
  return most;
}

/** The score above which no query is lost, neither of the sample nor of similar queries. */
function aboveLost(found: readonly Answered[], { manyLost, spared }: Demand): number {
  const lost = found.filter(({ share }) => share < LOST_BELOW);
  const isMany = lost.length > manyLost * found.length;
  const best = lost[isMany ? 0 : Math.round(spared * found.length)];
  if (!best || !isMany) return best?.score ?? -Infinity;
  const tail = best.score - lost[Math.min(TAIL, lost.length) - 1]!.score;
  const place = found.indexOf(best) - Math.round(TAIL_SHARE * found.length);
  return Math.max(best.score + tail, place >= 0 ? found[place]!.score : Infinity);
}

const shareOf = ({ scores }: Hits, { kth }: Question): number =>
  Math.min(1, scores.filter((score) => score >= kth - TIE).length / K);

const findingOf = (shares: readonly number[]): Finding => ({
  mean: meanOf(shares),
  lost: shares.filter((share) => share < LOST_BELOW).length / Math.max(1, shares.length),
});

/** The mean; 1 of an empty list. */
const meanOf = (shares: readonly number[]): number =>
  shares.length > 0 ? shares.reduce((sum, share) => sum + share, 0) / shares.length : 1;

/** The principal components are trained again at each doubling of the rows, up to this number. */
const LEARN_ROWS_MAX = 100_000;
/**
 * Minimum recall@10 of the trusted queries of a check (real queries are easier, see docs/internals/quantization.md),
 * and the largest share of all queries that may be doubtful.
 */
const RECALL_MIN = 0.97;
const DOUBTFUL_MAX = 0.5;
/**
 * Minimum recall@10 of scans of the quantized vectors over all queries. In addition at least half of the neighbours of
 * each query must be found.
 */
const QUANTIZED_RECALL_MIN = 0.98;
/** A check waits until at most this share of the rows is unindexed. */
const UNINDEXED_SHARE_MAX = 0.1;
/**
 * The values of `ef` that a check tries, the first being that of an unchecked index. Searches by full rows may go
 * further, because nothing else follows them.
 */
const EFS = [EF_MIN, 128, 192];
const EFS_BY_ROWS = [...EFS, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096];
/** A score that no hit reaches. */
const NEVER_TRUSTED = 2;

interface TunedIndex extends Checked {
  readonly unindexedCount: number;
}

const isGood = ({ mean, doubtful }: GraphFinding): boolean => doubtful <= DOUBTFUL_MAX && mean >= RECALL_MIN;

/** The recall tuner of one index. Owner only. */
export class RecallTuner {
  private work: Generator<undefined, unknown> | undefined;
  private readonly quantizations: readonly Quantization[];
  /** Index of the quantization in use; past the last one, graph searches use full rows. */
  private quantization = 0;
  /** Number of live rows at which recall is checked next. */
  private checkAt: number;

  /**
   * `learnAt`: number of live rows at which the principal components are trained next; Infinity for a reader, which
   * does no tuning.
   */
  constructor(
    private readonly instance: Instance,
    private readonly root: number,
    private readonly index: TunedIndex,
    private learnAt: number,
  ) {
    this.quantizations = learnAt < Infinity ? quantizationsFor(instance.word(root + ROOT_DIM)) : [];
    this.checkAt = learnAt;
    if (learnAt < Infinity && this.word(ROOT_QUANTIZATION) !== 0) this.goOn();
  }

  /** Whether any training or check is due or under way. */
  get isDue(): boolean {
    return this.work !== undefined || this.isLearningDue || this.isCheckDue;
  }

  /**
   * Runs a slice of the work that is due. Returns true if insertions into the graph should wait, because they use
   * quantized vectors that are still being built.
   */
  step(): boolean {
    if (!this.isDue) return false;
    this.work ??= this.isLearningDue ? this.learn() : this.check();
    if (this.work.next().done) {
      this.finish();
      return false;
    }
    return this.word(ROOT_QUANTIZER_NEXT) !== 0 && this.word(ROOT_QUANTIZER) === 0;
  }

  /** Continues from the progress stored in the root. Work that was under way starts again. */
  private goOn(): void {
    const rowsAt = (field: number): number => (this.word(field) === NONE ? Infinity : this.word(field));
    this.quantization = this.word(ROOT_QUANTIZATION) - 1;
    this.learnAt = rowsAt(ROOT_LEARN_AT);
    // An index that an older build has checked has no score from which graph searches are trusted, so it is checked
    // again.
    this.checkAt = this.word(ROOT_CHECKED) === 0 ? 0 : rowsAt(ROOT_CHECK_AT);
  }

  private finish(): void {
    this.work = undefined;
    const keep = (field: number, value: number): void =>
      this.instance.setWord(this.root + field, Math.min(value, NONE));
    keep(ROOT_QUANTIZATION, this.quantization + 1);
    keep(ROOT_LEARN_AT, this.learnAt);
    keep(ROOT_CHECK_AT, this.checkAt);
  }

  private get isLearningDue(): boolean {
    return this.liveCount >= this.learnAt && this.quantization < this.quantizations.length;
  }

  private get isCheckDue(): boolean {
    return this.liveCount >= this.checkAt && this.index.unindexedCount <= UNINDEXED_SHARE_MAX * this.liveCount;
  }

  private *learn(): Generator<undefined, void> {
    const rows = this.liveCount;
    this.learnAt = rows < LEARN_ROWS_MAX ? 2 * rows : Infinity;
    this.checkAt = Math.min(this.checkAt, rows);
    const learning = learn(this.instance, this.root, this.quantizations[this.quantization] as Quantization);
    while (!learning.next().done) {
      yield;
      // The kernel gave the training up, because a row needed its memory.
      if (this.word(ROOT_QUANTIZER_NEXT) === 0) return;
    }
  }

  /**
   * Finds the smallest `ef` whose graph searches can be trusted for most queries; the other queries are answered by
   * what follows a graph search (search-plan.ts). If no `ef` is large enough, quantized vectors are scanned, or longer
   * ones are trained and recall is checked again. If no quantization tells the rows apart, graph searches use full
   * rows.
   */
  private *check(): Generator<undefined, void> {
    const live = this.liveCount;
    this.checkAt = 2 * live;
    const questions = yield* askQuestions(this.index);
    const byRows = this.word(ROOT_QUANTIZER) === 0;
    if (!byRows) {
      const { mean, lost } = yield* checkQuantized(this.index, questions);
      if (mean < QUANTIZED_RECALL_MIN || lost > 0) return this.tryNextQuantization();
    }
    questions.push(...(yield* askMore(this.index, !byRows)));
    for (const ef of byRows ? EFS_BY_ROWS : EFS) {
      // The first queries suffice to rule out most values that are too small.
      if (!isGood(yield* checkGraphSearches(this.index, questions.slice(0, QUESTIONS), ef, TRUSTED))) continue;
      const finding = yield* checkGraphSearches(this.index, questions, ef, TRUSTED);
      if (!isGood(finding)) continue;
      const broad = yield* checkGraphSearches(this.index, questions, BROAD * ef, TRUSTED_BROAD);
      return this.adopt(live, ef, finding.trusted, broad.trusted);
    }
    if (byRows) this.adopt(live, EFS_BY_ROWS.at(-1)!);
    else if (live <= QUANTIZED_SCANNED) this.adopt(live, SCAN_QUANTIZED);
    else this.tryNextQuantization();
  }

  /** Stores the result, which searches use from now on. */
  private adopt(live: number, ef: number, trusted = NEVER_TRUSTED, trustedBroad = NEVER_TRUSTED): void {
    this.instance.writeFloats(this.root + ROOT_TRUSTED, Float32Array.of(trusted, trustedBroad));
    this.instance.setWord(this.root + ROOT_EF, ef);
    this.instance.setWord(this.root + ROOT_CHECKED, live);
  }

  /** Turns to the next quantization, or to full rows. Searches scan all rows until its check has ended. */
  private tryNextQuantization(): void {
    this.instance.setWord(this.root + ROOT_CHECKED, 0);
    this.quantization++;
    this.checkAt = 0;
    if (this.quantization < this.quantizations.length) this.learnAt = 0;
    else this.instance.calls.dropQuantizer(this.root);
  }

  private get liveCount(): number {
    return this.word(ROOT_LIVE);
  }

  private word(field: number): number {
    return this.instance.word(this.root + field);
  }
}
