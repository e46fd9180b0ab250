// The texts that wait for a call: of queries and of passages apart, and fair between the jobs of each, so that a
// document of ten thousand chunks does not hold up one of ten. Used by openai-runner.ts; embed worker of role remote.
// Reads no clock.
import type { AppError } from '../../../src/contract/errors.js';
import type { Purpose } from '../runner.js';
import type { EmbedJob, Item } from './embed-job.js';

export interface CallBounds {
  inputsMax: number;
  tokensMax: number;
}

/** Texts of one job that a call takes before it looks at the next job. */
const JOB_TEXTS = 32;

export class WaitingTexts {
  private readonly jobs: Record<Purpose, EmbedJob[]> = { query: [], passage: [] };

  push(job: EmbedJob): void {
    if (job.next) this.jobs[job.purpose].push(job);
  }

  isEmpty(purpose: Purpose): boolean {
    return this.jobs[purpose].length === 0;
  }

  /** Since when the job waits that waits longest; Infinity for none. */
  waitsSinceMs(purpose: Purpose): number {
    return this.jobs[purpose].reduce((least, { waitsSinceMs }) => Math.min(least, waitsSinceMs), Infinity);
  }

  /** Texts for one call: at least one of what waits, however long. Jobs that nobody waits for are left out for good. */
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

  /** Fails what is left of the job that waits longest. */
  failLongest(purpose: Purpose, error: AppError): void {
    const sinceMs = this.waitsSinceMs(purpose);
    this.drop(
      this.jobs[purpose].find((job) => job.waitsSinceMs === sinceMs),
      error,
    );
  }

  /** Fails what is left of a job. */
  drop(job: EmbedJob | undefined, error: AppError): void {
    if (!job) return;
    this.jobs[job.purpose] = this.jobs[job.purpose].filter((each) => each !== job);
    job.giveUp(error);
  }
}
