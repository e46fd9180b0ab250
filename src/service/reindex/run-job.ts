// Works on one reindex job until it has succeeded, failed, or is stopped: copy, link, gate, switch. What it has done is
// persisted with every page, and what it does again after a kill changes nothing. Begun by begin-runs.ts; front thread,
// where it only asks workers.
import { AppError } from '../../api/errors.js';
import type { StoredJob } from '../../storage/catalog-commands.js';
import { giveUpStaged, switchCollection } from '../collections/catalog-changes.js';
import type { Staged } from '../collections/shadow-collections.js';
import { countCollection } from '../collections/usage.js';
import type { Context } from '../context.js';
import { type Copy, type Page, copyMissing, untilLinked, writesBefore } from './copy.js';
import { passGate } from './gate.js';
import { cancelled, endRun, retrying, saveJob, showJob } from './job-record.js';
import { type Run, afterRestart, isLive } from './jobs.js';

// How fast a job goes, and how long it will take at that pace. Pure but for the clock.
// Used by run-job.ts.

/** The pace of the last minute or so counts, not that of the beginning. */
const WINDOW_MS = 60_000;

class Pace {
  private readonly marks: { atMs: number; done: number }[] = [{ atMs: performance.now(), done: 0 }];
  private done = 0;

  /** Chunks a second, and the seconds that `left` chunks will take. */
  after(chunks: number, left: number): { rate: number; eta_seconds?: number } {
    const nowMs = performance.now();
    this.done += chunks;
    this.marks.push({ atMs: nowMs, done: this.done });
    while (this.marks.length > 2 && (this.marks[1] as { atMs: number }).atMs < nowMs - WINDOW_MS) this.marks.shift();
    const [first] = this.marks as [{ atMs: number; done: number }];
    const rate = (1000 * (this.done - first.done)) / Math.max(1, nowMs - first.atMs);
    return { rate: Math.round(rate * 10) / 10, ...(rate > 0 && { eta_seconds: Math.round(left / rate) }) };
  }
}

type Why = Parameters<Run['stop']>[0];

class JobRun implements Run {
  isSwitching = false;
  private why: Why | undefined;
  private readonly abort = new AbortController();
  private readonly ended: Promise<void>;
  private readonly pace = new Pace();

  constructor(
    private readonly context: Context,
    private readonly id: string,
  ) {
    this.ended = this.run();
  }

  /** A pause waits for the page that is under way; anything else gives it up. */
  stop(why: Why): Promise<void> {
    if (this.why === undefined || this.why === 'pause') this.why = why;
    if (why !== 'pause') this.abort.abort();
    return this.ended;
  }

  private get job(): StoredJob {
    return this.context.reindexJobs.find(this.id) as StoredJob;
  }

  private save(patch: Partial<StoredJob>): Promise<StoredJob> {
    return saveJob(this.context, this.id, patch);
  }

  private get now(): string {
    return new Date(this.context.nowMs()).toISOString();
  }

  private async run(): Promise<void> {
    try {
      const { error: _, finished_at: _finished, ...job } = this.job;
      this.context.reindexJobs.put({ ...job, finished_at: null });
      await this.save({ status: 'running', started_at: job.started_at ?? this.now });
      await this.build();
    } catch (error) {
      await endRun(this.context, this.id, this.why, error);
    } finally {
      this.context.reindexJobs.runs.delete(this.id);
    }
  }

  private async build(): Promise<void> {
    const { staged } = this.context;
    const copy = this.copyOf();
    staged.setMode(copy.twin.id, 'embed');
    await writesBefore(copy);
    await copyMissing(copy, { from: this.job.cursors, copied: (shard, page) => this.copied(shard, page) });
    // What was written meanwhile and could not be embedded then.
    await copyMissing(copy);
    await this.link(copy);
    await this.gate(copy);
    this.check();
    await this.commit(copy);
  }

  private copyOf(): Copy {
    const { context } = this;
    const { staged_id: stagedId, log_id: logId } = this.job;
    const staged = stagedId === null ? undefined : context.staged.find(stagedId);
    const source = context.catalog.findByLog(logId);
    if (!staged || source?.id !== staged.replaces) throw new AppError('collection_not_found');
    return { context, source, twin: staged.collection, signal: this.abort.signal, check: () => this.check() };
  }

  private check(): void {
    if (this.why !== undefined) throw new Error(`stopped: ${this.why}`);
  }

  private async copied(shard: number, { after, walked }: Page): Promise<void> {
    const { cursors, completed_chunks: before, total_chunks: total } = this.job;
    const completed = before + walked;
    const patch = {
      cursors: cursors.with(shard, after),
      completed_chunks: completed,
      total_chunks: Math.max(total, completed),
    };
    await this.save({ ...patch, ...this.pace.after(walked, patch.total_chunks - completed) });
  }

  /** The gate and the searches after the switch find a graph, and scan nothing. */
  private async link(copy: Copy): Promise<void> {
    const pace = new Pace();
    let before: number | undefined;
    await untilLinked(copy, (unlinked) => {
      const linked = Math.max(0, (before ?? unlinked) - unlinked);
      before = unlinked;
      showJob(this.context, this.id, { unlinked_chunks: unlinked, ...pace.after(linked, unlinked) });
    });
  }

  private async gate({ source, twin, signal }: Copy): Promise<void> {
    const { gate } = this.job;
    if (!gate) return;
    const result = await passGate(this.context, { live: source, staged: twin, gate, signal });
    await this.save({ gate_result: result });
    if (!result.passed)
      throw new AppError(
        'reindex_gate_failed',
        `The new space finds ${result.overlap} of the hits of today, and ${gate.min_overlap} are wanted.`,
      );
  }

  /** From here on a write is in both spaces or refused; so once nothing is missing, nothing will be. */
  private async commit(copy: Copy): Promise<void> {
    const { context } = this;
    const { id } = copy.twin;
    await this.save({ status: 'committing' });
    context.staged.setMode(id, 'require');
    await writesBefore(copy);
    while ((await copyMissing(copy)) > 0);
    const { chunks } = await countCollection(context, copy.twin);
    this.check();
    this.isSwitching = true;
    const { rate: _, eta_seconds: _eta, unlinked_chunks: _unlinked, ...job } = this.job;
    const done: StoredJob = {
      ...job,
      status: 'succeeded',
      staged_id: null,
      total_chunks: chunks,
      completed_chunks: chunks,
      finished_at: this.now,
      updated_at: this.now,
    };
    await this.switch(copy, done);
    context.reindexJobs.put(done);
    showJob(context, this.id, {});
  }

  private async switch({ source, twin }: Copy, job: StoredJob): Promise<void> {
    const { context } = this;
    const keptUntilMs = context.nowMs() + 1000 * job.keep_previous_seconds;
    try {
      await retrying(() => switchCollection(context, twin.id, { expect: source.id, keptUntilMs, job }));
    } catch (error) {
      // The answer may have been lost, not the switch.
      if (context.catalog.findByLog(job.log_id)?.id !== twin.id) throw error;
    }
  }
}

// Spaces that had a collection's name before a switch go when their time is over, and when no search can be on them any
// more. Called every few seconds from when the shards are open (begin-runs.ts); front thread.

/** Longer than a search takes, one that waits for an index included. */
const GRACE_MS = 30_000;

async function sweepKept(context: Context): Promise<void> {
  const { staged, nowMs, log } = context;
  const isOver = ({ id, purpose, kept_until_ms: untilMs = 0, created_at: at }: Staged): boolean =>
    purpose === 'previous' && Math.max(untilMs, Date.parse(at) + GRACE_MS) <= nowMs() && !staged.isRequired(id);
  for (const { id } of [...staged.all()].filter(isOver)) {
    await giveUpStaged(context, id).catch((error: unknown) =>
      log.warn({ reason: String(error) }, 'a previous space could not be given up yet'),
    );
  }
}

// Begins the work on jobs: on a new or resumed one, and at the start of the server on those that its end has
// interrupted. Called by the use cases of this folder and by open-shard.ts; front thread.

const SWEEP_MS = 5000;

export function beginRun(context: Context, { job_id: id }: StoredJob): void {
  const { runs } = context.reindexJobs;
  if (!runs.has(id)) runs.set(id, new JobRun(context, id));
}

/** Once all shards are open; nothing at any later time. */
export async function resumeJobs(context: Context): Promise<void> {
  const { reindexJobs, log } = context;
  if (reindexJobs.hasResumed) return;
  reindexJobs.hasResumed = true;
  reindexJobs.every(
    SWEEP_MS,
    () =>
      void sweepKept(context).catch((error: unknown) =>
        log.error({ fault: String(error) }, 'kept spaces could not be looked through'),
      ),
  );
  for (const job of reindexJobs.all().filter(({ status }) => isLive(status))) {
    await resumeJob(context, job).catch((error: unknown) =>
      log.error({ reason: String(error), job: job.job_id }, 'a reindex job could not be resumed'),
    );
  }
}

async function resumeJob(context: Context, job: StoredJob): Promise<void> {
  if (job.status === 'cancelling') return cancelled(context, job.job_id);
  if (job.staged_id === null || !context.staged.find(job.staged_id))
    return endRun(context, job.job_id, undefined, new AppError('collection_not_found'));
  const status = afterRestart(job.status);
  if (status !== undefined) context.reindexJobs.put({ ...job, status });
  if (status === 'paused') await saveJob(context, job.job_id, { status });
  if ((status ?? job.status) === 'queued') beginRun(context, job);
}
