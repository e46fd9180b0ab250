// Runs one reindex job until it has succeeded, has failed or is stopped: copy, build the graph, quality gate, switch.
// Progress is stored with each page; repeating a page after a crash changes nothing. Runs on the main thread, which
// only sends requests to workers.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { StoredJob } from '../../storage/catalog-commands.js';
import { giveUpShadow, nowIso, switchCollection } from '../collections/catalog-changes.js';
import type { Shadow, ShadowCollections } from '../collections/shadow-collections.js';
import { countCollection } from '../collections/usage.js';
import { type Copy, type Page, copyMissing, untilIndexedAll, writesBefore } from './copy.js';
import { passGate } from './gate.js';
import {
  type ReindexContext,
  type Run,
  afterRestart,
  beginFollowing,
  cancelled,
  createJob,
  dualWriteModeIn,
  endJobsOf,
  endRun,
  jobAnswer,
  retrying,
  saveJob,
  showJob,
} from './jobs.js';
import { SpreadCopy } from './spread.js';

const SHOWN_LOOK_MS = 200;
/** The window over which the rate is measured. */
const WINDOW_MS = 60_000;

/** The recent rate of a job, and the estimated time left. */
class Pace {
  private readonly marks: { atMs: number; done: number }[] = [{ atMs: performance.now(), done: 0 }];
  private done = 0;

  /** Records `chunks` more chunks; returns chunks per second, and the estimated seconds for `left` more chunks. */
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
    private readonly context: ReindexContext,
    private readonly id: string,
  ) {
    this.ended = this.run();
  }

  /** A pause waits for the current page; other reasons abort it. */
  stop(why: Why): Promise<void> {
    if (this.why === undefined || this.why === 'pause') this.why = why;
    if (why !== 'pause') this.abort.abort();
    return this.ended;
  }

  private get job(): StoredJob {
    return this.context.jobs.find(this.id) as StoredJob;
  }

  private save(patch: Partial<StoredJob>): Promise<StoredJob> {
    return saveJob(this.context, this.id, patch);
  }

  private get now(): string {
    return nowIso(this.context.store);
  }

  private async run(): Promise<void> {
    const { error: _, finished_at: _finished, ...job } = this.job;
    try {
      this.context.jobs.put({ ...job, finished_at: null });
      await this.save({ status: 'running', started_at: job.started_at ?? this.now });
      await this.build(job.started_at === null);
    } catch (error) {
      await endRun(this.context, this.id, this.why, error);
    } finally {
      this.context.jobs.runs.delete(this.id);
      // The collection may have been deleted while the run was pausing.
      await endJobsOf(this.context, job.log_id);
    }
  }

  private async build(isFirst: boolean): Promise<void> {
    if (this.job.partitions !== undefined) return this.spread(isFirst);
    const copy = this.copyOf();
    copy.store.shadows.setMode(copy.shadow.id, 'embed');
    await writesBefore(copy);
    await copyMissing(copy, { from: this.job.cursors, copied: (shard, page) => this.copied(shard, page) });
    // A second pass copies the documents that were written meanwhile but could not be embedded.
    await copyMissing(copy);
    await this.index(copy);
    await this.gate(copy);
    await this.untilShown(copy);
    this.check();
    await this.commit(copy);
  }

  private async spread(isFirst: boolean): Promise<void> {
    if (this.context.leader && !isFirst) await this.beginAnew();
    const copy = this.copyOf();
    const { written, searchesUnderWay, leader } = this.context;
    const spread = new SpreadCopy({ ...copy, written, searchesUnderWay, leader });
    try {
      await this.save({ completed_chunks: 0 });
      await spread.copyAll((chunks) => this.counted(chunks));
      await spread.following(async () => {
        const checked = { ...copy, check: spread.check };
        await this.index(checked);
        await this.gate(copy);
        await this.untilShown(checked);
      });
      spread.check();
      await this.save({ status: 'committing' });
      await spread.whileEqual(() => this.finish(copy));
    } finally {
      spread.end();
    }
    // What was written during the job may have filled the new shards as well.
    written.collections.add(copy.shadow.id);
  }

  /** Replaces the copy of another node, or of an earlier run. What that may still write goes nowhere. */
  private async beginAnew(): Promise<void> {
    const source = this.context.store.catalog.findByLog(this.job.log_id);
    if (!source) throw new AppError('collection_not_found');
    await retrying(() => createJob(this.context, source, source, this.job), this.abort.signal);
  }

  private copyOf(): Copy {
    const { store, embedders, shardsCopied } = this.context;
    const { staged_id: shadowId, log_id: logId } = this.job;
    const shadow = shadowId === null ? undefined : store.shadows.find(shadowId);
    const source = store.catalog.findByLog(logId);
    if (!shadow || source?.id !== shadow.replaces) throw new AppError('collection_not_found');
    return {
      store,
      embedders,
      shardsCopied,
      source,
      shadow: shadow.collection,
      signal: this.abort.signal,
      check: () => this.check(),
    };
  }

  private check(): void {
    // Another node leads now, and goes on with the job.
    if (this.context.leader?.isHere === false) void this.stop('close');
    if (this.why !== undefined) throw new Error(`stopped: ${this.why}`);
  }

  private copied(shard: number, { after, scanned }: Page): Promise<void> {
    return this.counted(scanned, { cursors: this.job.cursors.with(shard, after) });
  }

  private async counted(scanned: number, progress: Pick<Partial<StoredJob>, 'cursors'> = {}): Promise<void> {
    const { completed_chunks: before, total_chunks: total } = this.job;
    const completed = before + scanned;
    const patch = {
      ...progress,
      completed_chunks: completed,
      total_chunks: Math.max(total, completed),
    };
    await this.save({ ...patch, ...this.pace.after(scanned, patch.total_chunks - completed) });
  }

  /** Waits for the graph, so that neither the quality gate nor the searches after the switch have to scan. */
  private async index(copy: Copy): Promise<void> {
    const pace = new Pace();
    let before: number | undefined;
    await untilIndexedAll(copy, (unindexed) => {
      const linked = Math.max(0, (before ?? unindexed) - unindexed);
      before = unindexed;
      showJob(this.context, this.id, { unindexed_chunks: unindexed, ...pace.after(linked, unindexed) });
    });
  }

  /**
   * Waits until all nodes show the collection. The switch drops the one that was replaced before it, which a node may show
   * for as long as it has not seen that switch.
   */
  private async untilShown({ store: { shadows }, source, signal, check }: Copy): Promise<void> {
    while (shadows.beside(source.id, 'previous').some(({ id }) => isShown(this.context, id))) {
      check();
      await sleep(SHOWN_LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  private async gate({ source, shadow, signal }: Copy): Promise<void> {
    const { gate } = this.job;
    if (!gate) return;
    const result = await passGate(this.context, { live: source, shadow: shadow, gate, signal });
    await this.save({ gate_result: result });
    if (!result.passed)
      throw new AppError(
        'reindex_gate_failed',
        `The hits of the new vector space overlap by ${result.overlap} with today's; ${gate.min_overlap} is required.`,
      );
  }

  /** From here on, a write goes to both collections or is rejected; so once nothing is missing, the two stay equal. */
  private async commit(copy: Copy): Promise<void> {
    await this.save({ status: 'committing' });
    copy.store.shadows.setMode(copy.shadow.id, 'require');
    await writesBefore(copy);
    await beginFollowing(this.context, copy.source, copy.shadow.id);
    while ((await copyMissing(copy)) > 0);
    await this.finish(copy);
  }

  private async finish(copy: Copy): Promise<void> {
    const { context } = this;
    const { chunks } = await countCollection(copy.store, copy.shadow);
    this.check();
    this.isSwitching = true;
    const { rate: _, eta_seconds: _eta, unindexed_chunks: _unindexed, ...job } = this.job;
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
    context.jobs.put(done);
    showJob(context, this.id, {});
  }

  private async switch({ source, shadow }: Copy, job: StoredJob): Promise<void> {
    const { store, jobs } = this.context;
    const keptUntilMs = store.nowMs() + 1000 * job.keep_previous_seconds;
    const ended = (): void => void jobs.put(job);
    try {
      await retrying(() => switchCollection(store, shadow.id, { expect: source.id, keptUntilMs, job, ended }));
    } catch (error) {
      // The reply may have been lost although the switch was committed.
      if (store.catalog.findByLog(job.log_id)?.id !== shadow.id) throw error;
    }
  }
}

/** Longer than any search takes, including one that waits for an index. */
const GRACE_MS = 30_000;

/** Takes note of the replaced collections that there are. */
function noteReplaced(shadows: ShadowCollections, replacedMs: Map<CollectionId, number>): void {
  for (const id of replacedMs.keys()) if (!shadows.find(id)) replacedMs.delete(id);
  for (const { id, purpose } of shadows.all())
    if (purpose === 'previous' && !replacedMs.has(id)) replacedMs.set(id, performance.now());
}

/**
 * Whether a node of a cluster may still show a collection that has been replaced: each applies the switch, and the drop in
 * the shards, in its own time. The clock of this node may have jumped, so that the time of the switch says nothing.
 */
function isShown({ leader, jobs: { replacedMs } }: ReindexContext, id: CollectionId): boolean {
  const nowMs = performance.now();
  return leader !== undefined && nowMs - (replacedMs.get(id) ?? nowMs) < GRACE_MS;
}

/** Drops replaced collections whose time is over and which no search can still use. */
async function sweepKept(context: ReindexContext): Promise<void> {
  const { store } = context;
  const { shadows, nowMs, log } = store;
  const isOver = ({ id, purpose, kept_until_ms: untilMs = 0, created_at: at }: Shadow): boolean =>
    purpose === 'previous' &&
    Math.max(untilMs, Date.parse(at) + GRACE_MS) <= nowMs() &&
    !isShown(context, id) &&
    !shadows.isRequired(id);
  for (const { id } of [...shadows.all()].filter(isOver)) {
    await giveUpShadow(store, id).catch((error: unknown) =>
      log.warn({ reason: String(error) }, 'a previous vector space could not be dropped yet'),
    );
  }
}

const SWEEP_MS = 5000;
/** How soon a node that has begun to lead goes on with the jobs. */
const LOOK_MS = 1000;

export function beginRun(context: ReindexContext, { job_id: id }: StoredJob): void {
  const { runs } = context.jobs;
  if (!runs.has(id)) runs.set(id, new JobRun(context, id));
}

/**
 * Resumes the jobs that the end of the process interrupted. Called when all shards are open; does nothing when called
 * again.
 */
export async function resumeJobs(context: ReindexContext): Promise<void> {
  const { jobs, store } = context;
  const { log, shadows } = store;
  if (jobs.hasResumed) return;
  jobs.hasResumed = true;
  const { leader } = context;
  jobs.every(SWEEP_MS, () => {
    noteReplaced(shadows, jobs.replacedMs);
    if (leader?.isHere === false) return;
    sweepKept(context).catch((error: unknown) =>
      log.error({ error: String(error) }, 'previous vector spaces could not be checked for removal'),
    );
  });
  if (!leader) return resumeLive(context);
  for (const job of jobs.live()) writeAsIn(context, job);
  jobs.every(LOOK_MS, () => {
    if (leader.isHere) void resumeLive(context);
    else for (const run of jobs.runs.values()) void run.stop('close');
  });
}

/** Resumes the jobs that have no run. */
async function resumeLive(context: ReindexContext): Promise<void> {
  const { jobs, store } = context;
  const waiting = [...jobs.live()].filter(({ status, job_id: id }) => status !== 'paused' && !jobs.runs.has(id));
  for (const job of waiting) {
    await resumeJob(context, job).catch((error: unknown) =>
      store.log.error({ reason: String(error), job: job.job_id }, 'a reindex job could not be resumed'),
    );
  }
}

/** Writes go to the shadow collection of a job that another node runs as its record says. */
function writeAsIn({ store: { shadows } }: ReindexContext, { staged_id: id, status }: StoredJob): void {
  if (id !== null && shadows.find(id)) shadows.setMode(id, dualWriteModeIn(status));
}

/** Takes the record of a job that another node has changed. */
export function takeJob(context: ReindexContext, job: StoredJob, forget: readonly string[] = []): void {
  const { jobs, store } = context;
  jobs.forget(forget);
  jobs.put(job);
  writeAsIn(context, job);
  store.events.publish(job.log_id, 'job', jobAnswer(job));
}

async function resumeJob(context: ReindexContext, job: StoredJob): Promise<void> {
  if (job.status === 'cancelling') return cancelled(context, job.job_id);
  if (job.staged_id === null || !context.store.shadows.find(job.staged_id))
    return endRun(context, job.job_id, undefined, new AppError('collection_not_found'));
  const status = afterRestart(job.status);
  if (status !== undefined) context.jobs.put({ ...job, status });
  if (status === 'paused') await saveJob(context, job.job_id, { status });
  if ((status ?? job.status) === 'queued') beginRun(context, job);
}
