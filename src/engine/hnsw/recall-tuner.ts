// When an index gets codes and when new ones, and what keeps its recall: as it grows, its axes are learned again at
// each doubling, and searches of a sample of its rows are compared with scans. Where they miss too much, walks become
// broader, then codes longer, then rows alone lead. The state of this work, one object an index, in the owner's thread;
// VectorIndex does a slice of it with each `linkSome`. Where it stands is kept in the root of the index, so that it
// goes on where an index comes back from a checkpoint.
import type { SearchParams } from '../../api/search.js';
import type { Instance } from '../memory/bindings.js';
import {
  EF_MIN,
  JUDGED as K,
  NONE,
  ROOT_CHECKED,
  ROOT_CHECK_AT,
  ROOT_CODES,
  ROOT_CODES_NEXT,
  ROOT_DIM,
  ROOT_EF,
  ROOT_LEARN_AT,
  ROOT_LIVE,
  ROOT_SHAPE,
  ROOT_TRUSTED,
  SCAN_CODES,
} from '../memory/layout.js';
import { type CodeShape, learn, shapesFor } from '../quantization/training.js';
import { BROAD, CODES_SCANNED, type Hits, type SearchScope, type Way, scanFor, walkOf } from './search-plan.js';

// Questions of a check are made of rows. Real ones lie farther from their nearest than rows do, and how much farther
// differs from user to user; but at the same distance of the tenth nearest a walk finds of all kinds of them about the
// same. So the sample has questions at all distances: rows moved towards another row, and rows moved in a direction in
// which rows differ. At the same distance walks find less of the former and more of the latter than of real ones. Walks
// are trusted from the score on above which none of the sample is lost, and what they find is enough.

/** What is checked: the index, as far as it is needed. */
interface Checked {
  readonly end: number;
  isLive(ordinal: number): boolean;
  /** The row as a vector of unit length. */
  rowOf(ordinal: number): Float32Array;
  search(query: Float32Array, k: number, params: SearchParams, scope: SearchScope): Hits;
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

interface WalkFinding {
  /** Where the score of the K-th that a walk finds is below it, the walk is not trusted. */
  readonly trusted: number;
  /** The share of all questions of which that is so. */
  readonly doubtful: number;
  /** The mean share that is found of the others' nearest. */
  readonly mean: number;
}

/** A question that a walk has answered: the score of its K-th hit, and the share of the nearest among its hits. */
interface Answered {
  readonly score: number;
  readonly share: number;
}

/** What is asked of walks that are trusted. */
interface Demand {
  /** Recall@10 of questions with scores side by side: real ones are easier. */
  readonly recall: number;
  /** Walks that lose a larger share of all questions may lose others at better scores. */
  readonly manyLost: number;
  /** The share of all questions that may be lost where few are. */
  readonly spared: number;
}
const TRUSTED: Demand = { recall: 0.94, manyLost: 0.04, spared: 0.002 };
/** Of broad ones: a scan of the codes costs several broad walks. */
const TRUSTED_BROAD: Demand = { recall: 0.85, manyLost: 0.015, spared: 0.005 };
/** Questions that are answered by scans of the rows: scans of the codes are judged by them. */
const QUESTIONS = 320;
/** Questions that walks are judged by: many, as few are lost; one for so many rows, and fewer where rows are scanned. */
const WALKED = 1000;
const ROWS_PER_WALKED = 8;
const NUMBERS_SCANNED = 256 * WALKED;
/** A question is at least so much of a row. */
const ROW_SHARE_MIN = 0.35;
/** Turns of the golden section: shares that are spread evenly however many there are. */
const GOLDEN = 0.618_033_988_749_895;
/** Rows that a slice scans. */
const SLICE_ROWS = 8192;
/** Scores of the same rows are the same; others as near as this are as good. */
const TIE = 1e-6;
/** So many questions with scores side by side, and this share of all, tell what a walk finds there. */
const WINDOW = 40;
const WINDOW_SHARE = 0.125;
/** Of so few questions, the lowest scores of the sample, nothing can be said. */
const SPARSE_SHARE = 0.02;
/**
 * Where walks lose many, other questions than those of the sample will be lost at better scores than the best of these:
 * better by as much as it is above the tenth of them, and by so many of all questions.
 */
const TAIL = 10;
const TAIL_SHARE = 0.02;
/** A question of which less is found is lost. */
const LOST_BELOW = 0.5;

/** The sample that scans of the rows answer, spread over all rows. */
function* askQuestions(index: Checked): Generator<undefined, Question[]> {
  const questions: Question[] = [];
  for (const query of queriesOf(index, QUESTIONS, 0)) {
    const scores = yield* scan(index, query);
    if (scores.length > 0) questions.push({ query, kth: scores[Math.min(K, scores.length) - 1]! });
  }
  return questions;
}

/** Further ones for walks, answered by scans of the codes where these can be relied upon. */
function* askMore(index: Checked, byCodes: boolean): Generator<undefined, Question[]> {
  const questions: Question[] = [];
  const dim = index.rowOf(0).length;
  const all = Math.min(WALKED, Math.floor(index.end / ROWS_PER_WALKED), byCodes ? WALKED : NUMBERS_SCANNED / dim);
  for (const query of queriesOf(index, Math.floor(all) - QUESTIONS, QUESTIONS)) {
    const scores = byCodes ? index.searchBy(query, K, scanFor(K)).scores : yield* scan(index, query);
    if (scores.length > 0) questions.push({ query, kth: scores[Math.min(K, scores.length) - 1]! });
    yield;
  }
  return questions;
}

/** Questions of both kinds; those behind the `first` lie between the ones before them. */
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
    const { scores } = index.search(query, K, { exact: true }, { allowed });
    best = [...best, ...scores].sort((a, b) => b - a).slice(0, K);
    yield;
  }
  return best;
}

/** What scans of the codes find. */
function* checkCodes(index: Checked, questions: readonly Question[]): Generator<undefined, Finding> {
  const shares: number[] = [];
  for (const question of questions) {
    shares.push(shareOf(index.searchBy(question.query, K, scanFor(K)), question));
    yield;
  }
  return findingOf(shares);
}

/** What walks of breadth `ef` find, and from which score on they can be trusted. */
function* checkWalks(
  index: Checked,
  questions: readonly Question[],
  ef: number,
  demand: Demand,
): Generator<undefined, WalkFinding> {
  const found: Answered[] = [];
  for (const question of questions) {
    const hits = index.searchBy(question.query, K, walkOf(ef, K));
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

/** Of how many questions, from the best score down, walks find enough of what is asked for. */
function foundEnough(found: readonly Answered[], recall: number): number {
  const most = Math.max(0, found.length - Math.round(SPARSE_SHARE * found.length));
  const window = Math.max(WINDOW, Math.round(WINDOW_SHARE * found.length));
  for (let end = window; end <= found.length; end++) {
    // A window that is not good enough began to be so within: half of it does not count.
    if (meanOf(found.slice(end - window, end).map(({ share }) => share)) < recall)
      return Math.min(most, Math.max(0, end - 1 - (window >> 1)));
  }
  return most;
}

/** The score above which no question is lost, of those asked and of others like them. */
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

/** 1 without any. */
const meanOf = (shares: readonly number[]): number =>
  shares.length > 0 ? shares.reduce((sum, share) => sum + share, 0) / shares.length : 1;

/** Axes are learned again at each doubling of the rows until there are this many. */
const LEARN_ROWS_MAX = 100_000;
/**
 * Recall@10 that is enough, of the questions of a check whose walks are trusted: real ones are easier
 * (docs/internals/quantization.md). The share of all that may be doubtful.
 */
const RECALL_MIN = 0.97;
const DOUBTFUL_MAX = 0.5;
/** Recall@10 of scans of the codes that is enough, of all questions; and half of each has to be found. */
const CODES_RECALL_MIN = 0.98;
/** A check waits until no more of the rows wait for their links. */
const UNLINKED_SHARE_MAX = 0.1;
/**
 * Breadths of a search's walk, from that of an index that has not been checked; those by rows go further, as nothing
 * comes after.
 */
const EFS = [EF_MIN, 128, 192];
const EFS_BY_ROWS = [...EFS, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096];
/** A score that none has. */
const NEVER_TRUSTED = 2;

interface Tended extends Checked {
  readonly pendingCount: number;
}

const isGood = ({ mean, doubtful }: WalkFinding): boolean => doubtful <= DOUBTFUL_MAX && mean >= RECALL_MIN;

export class Tending {
  private work: Generator<undefined, unknown> | undefined;
  private readonly shapes: readonly CodeShape[];
  /** Place of the shape in use; behind the last, rows lead. */
  private shape = 0;
  /** Live rows at which recall is checked next. */
  private checkAt: number;

  /** `learnAt`: live rows at which the axes are learned next; Infinity for a reader, who does none of this. */
  constructor(
    private readonly instance: Instance,
    private readonly root: number,
    private readonly index: Tended,
    private learnAt: number,
  ) {
    this.shapes = learnAt < Infinity ? shapesFor(instance.word(root + ROOT_DIM)) : [];
    this.checkAt = learnAt;
    if (learnAt < Infinity && this.word(ROOT_SHAPE) !== 0) this.goOn();
  }

  /** True while there is something to do, whether rows wait for links or not. */
  get isDue(): boolean {
    return this.work !== undefined || this.isLearningDue || this.isCheckDue;
  }

  /**
   * Does a slice of what is due. True where links should wait for it: insertions go by codes, and there are none yet.
   */
  step(): boolean {
    if (!this.isDue) return false;
    this.work ??= this.isLearningDue ? this.learn() : this.check();
    if (this.work.next().done) {
      this.finish();
      return false;
    }
    return this.word(ROOT_CODES_NEXT) !== 0 && this.word(ROOT_CODES) === 0;
  }

  /** Takes up what another object has left: work that it was in the midst of begins anew. */
  private goOn(): void {
    const rowsAt = (field: number): number => (this.word(field) === NONE ? Infinity : this.word(field));
    this.shape = this.word(ROOT_SHAPE) - 1;
    this.learnAt = rowsAt(ROOT_LEARN_AT);
    // One that was checked by an older build was not asked from which score on walks are to be trusted.
    this.checkAt = this.word(ROOT_CHECKED) === 0 ? 0 : rowsAt(ROOT_CHECK_AT);
  }

  private finish(): void {
    this.work = undefined;
    const keep = (field: number, value: number): void =>
      this.instance.setWord(this.root + field, Math.min(value, NONE));
    keep(ROOT_SHAPE, this.shape + 1);
    keep(ROOT_LEARN_AT, this.learnAt);
    keep(ROOT_CHECK_AT, this.checkAt);
  }

  private get isLearningDue(): boolean {
    return this.liveCount >= this.learnAt && this.shape < this.shapes.length;
  }

  private get isCheckDue(): boolean {
    return this.liveCount >= this.checkAt && this.index.pendingCount <= UNLINKED_SHARE_MAX * this.liveCount;
  }

  private *learn(): Generator<undefined, void> {
    const rows = this.liveCount;
    this.learnAt = rows < LEARN_ROWS_MAX ? 2 * rows : Infinity;
    this.checkAt = Math.min(this.checkAt, rows);
    const learning = learn(this.instance, this.root, this.shapes[this.shape] as CodeShape);
    while (!learning.next().done) {
      yield;
      // Given up for want of memory by a row that needed it.
      if (this.word(ROOT_CODES_NEXT) === 0) return;
    }
  }

  /**
   * Finds the smallest breadth whose walks can be trusted with most questions; the others are answered by what follows
   * a walk (search-plan.ts). Where there is none, codes are scanned, or longer ones learned, and recall is checked
   * again; where codes cannot tell the rows apart, rows lead.
   */
  private *check(): Generator<undefined, void> {
    const live = this.liveCount;
    this.checkAt = 2 * live;
    const questions = yield* askQuestions(this.index);
    const byRows = this.word(ROOT_CODES) === 0;
    if (!byRows) {
      const { mean, lost } = yield* checkCodes(this.index, questions);
      if (mean < CODES_RECALL_MIN || lost > 0) return this.tryNextShape();
    }
    questions.push(...(yield* askMore(this.index, !byRows)));
    for (const ef of byRows ? EFS_BY_ROWS : EFS) {
      // Most breadths that will not do are seen by the first of the questions.
      if (!isGood(yield* checkWalks(this.index, questions.slice(0, QUESTIONS), ef, TRUSTED))) continue;
      const finding = yield* checkWalks(this.index, questions, ef, TRUSTED);
      if (!isGood(finding)) continue;
      const broad = yield* checkWalks(this.index, questions, BROAD * ef, TRUSTED_BROAD);
      return this.settle(live, ef, finding.trusted, broad.trusted);
    }
    if (byRows) this.settle(live, EFS_BY_ROWS.at(-1)!);
    else if (live <= CODES_SCANNED) this.settle(live, SCAN_CODES);
    else this.tryNextShape();
  }

  /** What searches go by from now on. */
  private settle(live: number, ef: number, trusted = NEVER_TRUSTED, trustedBroad = NEVER_TRUSTED): void {
    this.instance.writeFloats(this.root + ROOT_TRUSTED, Float32Array.of(trusted, trustedBroad));
    this.instance.setWord(this.root + ROOT_EF, ef);
    this.instance.setWord(this.root + ROOT_CHECKED, live);
  }

  /** Until its check has ended, all rows are scanned. */
  private tryNextShape(): void {
    this.instance.setWord(this.root + ROOT_CHECKED, 0);
    this.shape++;
    this.checkAt = 0;
    if (this.shape < this.shapes.length) this.learnAt = 0;
    else this.instance.calls.dropCodes(this.root);
  }

  private get liveCount(): number {
    return this.word(ROOT_LIVE);
  }

  private word(field: number): number {
    return this.instance.word(this.root + field);
  }
}
