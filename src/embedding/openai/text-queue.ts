// The texts that wait for a call of an endpoint, and their results. Takes times as parameters. Embed worker of role
// remote.
import type { AppError } from '../../api/errors.js';
import type { Embedded, Purpose } from '../embedder.js';

/** One text of a job. */
export interface Item {
  job: EmbedJob;
  place: number;
  text: string;
  /** An estimate. */
  tokens: number;
}

interface EmbedJobOptions {
  items: readonly { text: string; tokens: number }[];
  purpose: Purpose;
  dim: number;
  isCancelled: () => boolean;
  nowMs: number;
  /** Trace context of the request, if it is traced. */
  traceparent?: string;
}

/** The texts of one message. */
export class EmbedJob {
  readonly purpose: Purpose;
  /** Resolves when every text is settled. Rejects if all texts failed for reasons other than the texts themselves. */
  readonly done: Promise<Embedded>;
  /** The time since when the job waits for its next call. */
  waitsSinceMs: number;
  private readonly items: readonly Item[];
  private readonly vectors: Float32Array;
  private readonly failures = new Map<number, AppError>();
  private taken = 0;
  private unsettled: number;
  private resolve!: (embedded: Embedded) => void;
  private reject!: (error: unknown) => void;

  constructor(private readonly options: EmbedJobOptions) {
    this.purpose = options.purpose;
    this.waitsSinceMs = options.nowMs;
    this.items = options.items.map((item, place) => ({ job: this, place, ...item }));
    this.vectors = new Float32Array(this.items.length * options.dim);
    this.unsettled = this.items.length;
    this.done = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    if (this.unsettled === 0) this.resolve({ vectors: this.vectors });
  }

  get traceparent(): string | undefined {
    return this.options.traceparent;
  }

  /** The next text that no call has taken. */
  get next(): Item | undefined {
    return this.items[this.taken];
  }

  take(nowMs: number): Item {
    this.waitsSinceMs = nowMs;
    return this.items[this.taken++] as Item;
  }

  /** Whether nobody waits for the job any more; if so, it is resolved. */
  isAbandoned(): boolean {
    if (!this.options.isCancelled()) return false;
    this.resolve({ vectors: this.vectors });
    return true;
  }

  settle(place: number, vector: Float32Array): void {
    this.vectors.set(vector, place * this.options.dim);
    this.settled();
  }

  fail(place: number, error: AppError): void {
    this.failures.set(place, error);
    this.settled();
  }

  /** Fails the remaining texts with the error of one of them. */
  giveUp(error: AppError): void {
    while (this.next) this.fail(this.take(this.waitsSinceMs).place, error);
  }

  /** Rejects the job because of an internal error. */
  break(error: unknown): void {
    this.taken = this.items.length;
    this.reject(error);
  }

  private settled(): void {
    if (--this.unsettled > 0) return;
    const { vectors, failures } = this;
    const errors = [...failures.values()];
    if (errors.length === this.items.length && errors.every(({ code }) => code !== 'text_not_embeddable'))
      this.reject(errors[0]);
    else this.resolve(failures.size > 0 ? { vectors, failures } : { vectors });
  }
}

interface CallBounds {
  inputsMax: number;
  tokensMax: number;
}

/** Texts that a call takes of one job before it proceeds to the next job. */
const JOB_TEXTS = 32;

/**
 * Pending texts, with separate queues for queries and passages. Jobs take turns, so that a document of ten thousand
 * chunks does not delay one of ten.
 */
export class WaitingTexts {
  private readonly jobs: Record<Purpose, EmbedJob[]> = { query: [], passage: [] };

  push(job: EmbedJob): void {
    if (job.next) this.jobs[job.purpose].push(job);
  }

  isEmpty(purpose: Purpose): boolean {
    return this.jobs[purpose].length === 0;
  }

  /** The time since when the longest waiting job waits; Infinity if there is none. */
  waitsSinceMs(purpose: Purpose): number {
    return this.jobs[purpose].reduce((least, { waitsSinceMs }) => Math.min(least, waitsSinceMs), Infinity);
  }

  /** Takes the texts of one call: at least one, however long it is. Abandoned jobs are removed. */
  take(purpose: Purpose, { inputsMax, tokensMax }: CallBounds, nowMs: number): Item[] {
    const jobs = (this.jobs[purpose] = this.jobs[purpose].filter((job) => !job.isAbandoned()));
    const items: Item[] = [];
    let tokens = 0;
    const fits = ({ next }: EmbedJob): boolean =>
      items.length < inputsMax && (items.length === 0 || tokens + (next as Item).tokens <= tokensMax);
    while (jobs[0] && fits(jobs[0])) {
      const job = jobs.shift() as EmbedJob;
      for (let left = JOB_TEXTS; left > 0 && job.next && fits(job); left--) {
        const item = job.take(nowMs);
        items.push(item);
        tokens += item.tokens;
      }
      if (job.next) jobs.push(job);
    }
    return items;
  }

  /** Fails the rest of the longest waiting job. */
  failLongest(purpose: Purpose, error: AppError): void {
    const sinceMs = this.waitsSinceMs(purpose);
    this.drop(
      this.jobs[purpose].find((job) => job.waitsSinceMs === sinceMs),
      error,
    );
  }

  /** Fails the rest of a job. */
  drop(job: EmbedJob | undefined, error: AppError): void {
    if (!job) return;
    this.jobs[job.purpose] = this.jobs[job.purpose].filter((each) => each !== job);
    job.giveUp(error);
  }
}
