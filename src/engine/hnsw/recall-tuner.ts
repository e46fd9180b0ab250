// When an index gets codes and when new ones, and what keeps its recall: as it grows, its axes are learned again at
// each doubling, and searches of a sample of its rows are compared with scans. Where they miss too much, walks become
// broader, then codes longer, then rows alone lead. The state of this work, one object an index, in the owner's thread;
// VectorIndex does a slice of it with each `linkSome`. Where it stands is kept in the root of the index, so that it
// goes on where an index comes back from a checkpoint.
import type { Instance } from '../instance.js';
import { CODES_SCANNED } from '../breadth.js';
import {
  BROAD,
  EF_MIN,
  NONE,
  ROOT_CHECKED,
  ROOT_CODES,
  ROOT_CODES_NEXT,
  ROOT_DIM,
  ROOT_EF,
  ROOT_LIVE,
  ROOT_TRUSTED,
  SCAN_CODES,
} from '../layout.js';
import {
  CODES_RECALL_MIN,
  DOUBTFUL_MAX,
  LEARN_ROWS_MAX,
  LOST_MAX,
  RECALL_MIN,
  ROOT_CHECK_AT,
  ROOT_LEARN_AT,
  ROOT_SHAPE,
  TRUSTED_RECALL,
  TRUSTED_RECALL_BROAD,
  UNLINKED_SHARE_MAX,
} from './layout.js';
import { learn } from './learning.js';
import { askQuestions, checkCodes, checkWalks, type Checked } from './recall-check.js';
import { shapesFor, type CodeShape } from './shapes.js';

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
   * a walk (breadth.ts). Where there is none, codes are scanned, or longer ones learned, and recall is checked again;
   * where codes cannot tell the rows apart, rows lead.
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
    for (const ef of byRows ? EFS_BY_ROWS : EFS) {
      const { mean, lost, trusted, doubtful } = yield* checkWalks(this.index, questions, ef, TRUSTED_RECALL);
      if (doubtful > DOUBTFUL_MAX || mean < RECALL_MIN || lost > LOST_MAX) continue;
      const broad = yield* checkWalks(this.index, questions, BROAD * ef, TRUSTED_RECALL_BROAD);
      return this.settle(live, ef, trusted, broad.trusted);
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
