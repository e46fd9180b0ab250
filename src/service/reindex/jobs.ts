// Reindex jobs: their states, their records in memory (the owner of shard 0 has the originals), their runs, and the
// transitions of a record, including how a job is cancelled or fails. Runs on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection, Space } from '../../api/collections.js';
import { AppError, type ErrorCode } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { ReindexJob, ReindexStatus } from '../../api/reindex.js';
import { internalErrorOf } from '../../base/thread.js';
import { GrowingIds } from '../../base/uuids.js';
import { type JobChange, type StoredJob, spaceIn } from '../../storage/catalog-commands.js';
import { type CatalogContext, changeCatalog, forgetShadow, nowIso } from '../collections/catalog-changes.js';
import type { CollectionDefaults } from '../collections/settings.js';
import type { DualWriteMode } from '../collections/shadow-collections.js';
import type { LeaderCalls } from '../cluster/leader-calls.js';
import type { Embedders } from '../embedding/embedders.js';
import type { QueryLog } from '../query-log/query-log.js';
import type { SearchContext } from '../search/search.js';
import type { WrittenDocuments } from './written-documents.js';

export interface ReindexContext {
  readonly store: CatalogContext;
  readonly jobs: ReindexJobs;
  readonly embedders: Pick<Embedders, 'spaceFor' | 'preflight' | 'embedDocuments'>;
  readonly search: SearchContext;
  readonly queryLog: Pick<QueryLog, 'pages'>;
  readonly written: WrittenDocuments;
  readonly searchesUnderWay: { readonly count: number };
  readonly growth: Growth;
  /** The node of a cluster that runs the jobs; absent on a single machine. */
  readonly leader: LeaderCalls | undefined;
  /** The number of shards that are copied at a time, so that one page is embedded while others are read and written. */
  readonly shardsCopied: number;
}

/** When collections are spread over more shards by themselves. */
interface Growth extends Pick<CollectionDefaults, 'chunksPerPartition'> {
  /** How often the collections that were written are looked at. */
  readonly everyMs: number;
}

type Wish = 'pause' | 'resume' | 'cancel';

interface Rule {
  /** States in which the request takes effect. */
  from: readonly ReindexStatus[];
  /**
   * States that the request leads to. Repeating it there changes nothing, because the first reply may have been lost.
   */
  leadsTo: readonly ReindexStatus[];
}

const RULES: Readonly<Record<Wish, Rule>> = {
  pause: { from: ['queued', 'running'], leadsTo: ['pausing', 'paused'] },
  resume: { from: ['paused', 'failed'], leadsTo: ['queued', 'running'] },
  cancel: {
    from: ['queued', 'running', 'pausing', 'paused', 'committing', 'failed'],
    leadsTo: ['cancelling', 'cancelled'],
  },
};

export const LIVE: ReadonlySet<ReindexStatus> = new Set<ReindexStatus>([
  'queued',
  'running',
  'pausing',
  'paused',
  'committing',
  'cancelling',
]);
const FINISHED: ReadonlySet<ReindexStatus> = new Set<ReindexStatus>(['cancelled', 'failed', 'succeeded']);

/** How writes go to the shadow collection of a job, on nodes that do not run it. */
export function dualWriteModeIn(status: ReindexStatus): DualWriteMode {
  if (status === 'committing') return 'require';
  return status === 'queued' || status === 'running' ? 'embed' : 'later';
}

/** A collection has at most one live job. */
const isLive = (status: ReindexStatus): boolean => LIVE.has(status);
const isFinished = (status: ReindexStatus): boolean => FINISHED.has(status);

/** Whether the request takes effect in this state. Throws 409 `reindex_state_conflict`. */
export function changes(wish: Wish, status: ReindexStatus): boolean {
  const { from, leadsTo } = RULES[wish];
  if (from.includes(status)) return true;
  if (leadsTo.includes(status)) return false;
  throw new AppError('reindex_state_conflict', `The job is ${status}.`, { details: { status } });
}

/** The state in which a job continues after a restart; undefined if its state does not change. */
export function afterRestart(status: ReindexStatus): ReindexStatus | undefined {
  if (status === 'pausing') return 'paused';
  return status === 'running' || status === 'committing' ? 'queued' : undefined;
}

/** A run of a job. The reason `close` means that the server stops; the job continues at the next start. */
export interface Run {
  /** Resolves when the run has ended. */
  stop(why: 'pause' | 'cancel' | 'close'): Promise<void>;
  /** True once the switch has started, which cannot be undone. */
  readonly isSwitching: boolean;
}

/** Number of finished jobs that are kept, per collection and in total. */
const KEPT_OF_COLLECTION = 20;
const KEPT_OF_ALL = 1000;

export class ReindexJobs {
  private readonly ids = new GrowingIds();
  private readonly byIds = new Map<string, StoredJob>();
  /** Collections, by the id of their query log, on which a start, a resume or a rollback is in progress. */
  private readonly acquired = new Set<CollectionId>();
  /** The runs by job id. */
  readonly runs = new Map<string, Run>();
  /** Number of jobs that ended since the start, by status. */
  readonly ended = new Map<ReindexJob['status'], number>();
  /** When this node first saw each replaced collection, by a clock that does not jump. */
  readonly replacedMs = new Map<CollectionId, number>();
  private isLoaded = false;
  hasResumed = false;
  private readonly timers: NodeJS.Timeout[] = [];

  /** Takes the stored records, at the start only: afterwards memory is authoritative and the store follows. */
  load(jobs: readonly StoredJob[]): void {
    if (this.isLoaded) return;
    this.isLoaded = true;
    for (const job of jobs) this.byIds.set(job.job_id, job);
  }

  nextId(nowMs: number): string {
    return this.ids.next(nowMs);
  }

  find(id: string): StoredJob | undefined {
    return this.byIds.get(id);
  }

  /** All jobs, newest first; their ids grow with time. */
  all(): StoredJob[] {
    return [...this.byIds.values()].sort((a, b) => (a.job_id < b.job_id ? 1 : -1));
  }

  /** The jobs of a collection, newest first. */
  ofCollection(logId: CollectionId): StoredJob[] {
    return this.all().filter((job) => job.log_id === logId);
  }

  *live(): Generator<StoredJob> {
    for (const job of this.byIds.values()) if (isLive(job.status)) yield job;
  }

  /** Vector spaces that runs are building. */
  building(): CollectionId[] {
    return [...this.runs.keys()].flatMap((id) => this.byIds.get(id)?.staged_id ?? []);
  }

  put(job: StoredJob): StoredJob {
    const before = this.byIds.get(job.job_id);
    if (isFinished(job.status) && before?.status !== job.status)
      this.ended.set(job.status, (this.ended.get(job.status) ?? 0) + 1);
    this.byIds.set(job.job_id, job);
    return job;
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) this.byIds.delete(id);
  }

  /**
   * Ids of the finished jobs to forget when the collection gets another one. Jobs that still have a shadow collection
   * are kept.
   */
  surplus(logId: CollectionId): string[] {
    const finished = this.all().filter(({ status, staged_id: id }) => isFinished(status) && id === null);
    const own = finished.filter((job) => job.log_id === logId).slice(KEPT_OF_COLLECTION - 1);
    return [...new Set([...own, ...finished.slice(KEPT_OF_ALL - 1)])].map(({ job_id: id }) => id);
  }

  /**
   * Runs `work` while no other operation can start on the collection. Throws 409 `reindex_conflict` if another
   * operation or a live job exists.
   */
  async acquire<T>(logId: CollectionId, work: () => Promise<T>): Promise<T> {
    const live = this.ofCollection(logId).find(({ status }) => isLive(status));
    if (live || this.acquired.has(logId))
      throw new AppError('reindex_conflict', undefined, {
        ...(live && { details: { job_id: live.job_id, status: live.status } }),
      });
    this.acquired.add(logId);
    try {
      return await work();
    } finally {
      this.acquired.delete(logId);
    }
  }

  /** Calls `work` periodically until `close`. */
  every(ms: number, work: () => void): void {
    this.timers.push(setInterval(work, ms).unref());
  }

  /** Stops all runs; their jobs continue at the next start. */
  async close(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    await Promise.all([...this.runs.values()].map((run) => run.stop('close')));
  }
}

/** The job as clients see it. Fields that have a new name are there under both, until release 0.11.0. */
export function jobAnswer({
  log_id: _log,
  staged_id: _shadow,
  cursors: _cursors,
  gate_result: gate,
  unlinked_chunks: _before,
  ...job
}: StoredJob): ReindexJob {
  return {
    ...job,
    ...(job.unindexed_chunks !== undefined && { unlinked_chunks: job.unindexed_chunks }),
    // Earlier releases stored `staged_ms` alone.
    ...(gate && { gate_result: { ...gate, shadow_ms: gate.shadow_ms ?? gate.staged_ms } }),
  };
}

/** Attempts that a job makes where something is away. A shard or a log comes back; an embedder may be gone for good. */
const ATTEMPTS: Readonly<Partial<Record<ErrorCode, number>>> = {
  shard_unavailable: 25,
  not_ready: 25,
  log_unavailable: 25,
  embedder_unavailable: 8,
  overloaded: 8,
};
/** The pause between attempts doubles from the first to the longest: 8 attempts take about 13 s, and 25 two minutes. */
const FIRST_WAIT_MS = 100;
const WAIT_MS_MAX = 6400;
/** An error that asks for a longer pause than this is not retried. */
const RETRY_AFTER_S_MAX = 30;

/**
 * Retries work that fails because a worker or an endpoint is temporarily unavailable, so that a job does not fail
 * because of that. Rejects with the last error, or with the current one once the signal is aborted.
 */
export async function retrying<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= attemptsFor(error) || signal?.aborted) throw error;
      const waitMs = Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (attempt - 1));
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

const attemptsFor = (error: unknown): number =>
  error instanceof AppError && (error.options.retryAfterS ?? 0) <= RETRY_AFTER_S_MAX ? (ATTEMPTS[error.code] ?? 1) : 1;

/**
 * Changes the record of a job: in memory and in an event at once, then on disk. Concurrent changes are written in their
 * latest state. Resolves when the record is on disk and the shards have forgotten the shadow collections that are
 * dropped with it. Rejects if shard 0 stays unavailable.
 */
export async function saveJob(
  context: ReindexContext,
  id: string,
  patch: Partial<StoredJob>,
  others: Omit<JobChange, 'job'> = {},
): Promise<StoredJob> {
  const job = showJob(context, id, patch);
  // Reads the record when it is sent, so that of two concurrent saves neither undoes the other's change.
  const { store } = context;
  const { dropShadow = [] } = others;
  const forgetting = await retrying(() =>
    changeCatalog(store, 'saveJob', { job: context.jobs.find(id) ?? job, ...others }, (_, applied) =>
      dropShadow.map((shadow) => forgetShadow(store, shadow, applied)),
    ),
  );
  await Promise.all(forgetting);
  return job;
}

/** Like `saveJob` without the commit, for changes that another transaction commits. */
export function showJob(
  { jobs, store }: Pick<ReindexContext, 'jobs' | 'store'>,
  id: string,
  patch: Partial<StoredJob>,
): StoredJob {
  const before = jobs.find(id) as StoredJob;
  const { tenant, name } = store.catalog.findByLog(before.log_id) ?? { tenant: before.tenant, name: before.collection };
  const job = jobs.put({ ...before, ...patch, tenant, collection: name, updated_at: nowIso(store) });
  store.events.publish(job.log_id, 'job', jobAnswer(job));
  return job;
}

/**
 * Creates the job and its shadow collection, or the latter for a job that is there. Replaces the shadow collections of
 * failed jobs.
 */
export async function createJob(
  context: ReindexContext,
  live: Collection,
  space: Space,
  job: StoredJob,
): Promise<StoredJob> {
  const { store, jobs } = context;
  const { shadows } = store;
  const { id: replaces, log_id: _, home = replaces, ...settings } = live;
  const spread = job.partitions ?? live.spread;
  const placement = spread === undefined ? {} : { home, spread };
  const collection = { ...settings, ...spaceIn(space), ...placement };
  const purpose = job.partitions === undefined ? ('reindex' as const) : ('spread' as const);
  const failed = shadows
    .beside(live.id)
    .filter((shadow) => shadow.purpose === 'reindex' || shadow.purpose === 'spread');
  const dropShadow = failed.map(({ id }) => id);
  const forget = jobs.surplus(job.log_id);
  const request = {
    job,
    dropShadow,
    forget,
    shadow: { purpose, replaces, created_at: job.created_at, collection },
  };
  const { created, forgetting } = await changeCatalog(store, 'createJob', request, (made, applied) => {
    for (const ended of jobs.ofCollection(job.log_id)) jobs.put({ ...ended, staged_id: null });
    jobs.forget(forget);
    const forgotten = dropShadow.map((id) => forgetShadow(store, id, applied));
    return { created: jobs.put(made.job), forgetting: forgotten };
  });
  await Promise.all(forgetting);
  return created;
}

const GONE = new Set<ErrorCode>(['collection_not_found', 'collection_changed']);

/** Ends a run. `why` is the reason it was stopped for; if undefined, `error` is why it failed. Never rejects. */
export async function endRun(
  context: ReindexContext,
  id: string,
  why: Parameters<Run['stop']>[0] | undefined,
  error: unknown,
): Promise<void> {
  const {
    jobs,
    store: { shadows, log },
  } = context;
  const { rate: _, eta_seconds: _eta, unindexed_chunks: _unindexed, ...job } = jobs.find(id) as StoredJob;
  jobs.put(job);
  const shadow = job.staged_id === null ? undefined : shadows.find(job.staged_id);
  // A job that ends here with the server, or because another node leads now, goes on.
  if (shadow) shadows.setMode(shadow.id, why === 'close' ? dualWriteModeIn(job.status) : 'later');
  const isGone = error instanceof AppError && GONE.has(error.code);
  try {
    if (why === 'cancel') await cancelled(context, id);
    else if (why === 'pause' && !isGone) await saveJob(context, id, { status: 'paused' });
    else if (why !== 'close') await failed(context, id, error);
    if (shadow && why !== 'cancel' && why !== 'close') await endFollowing(context, shadow.replaces, shadow.id);
  } catch (failure) {
    log.error({ error: String(failure), job: id }, 'the final state of a reindex job could not be stored');
  }
}

/**
 * From here on in the order of the log, no node writes to a collection without writing to the follower. Nothing has to be
 * done on a single machine, which knows of all its writes.
 */
export async function beginFollowing(
  { leader, store: { shards } }: Pick<ReindexContext, 'leader' | 'store'>,
  source: Collection,
  follower: CollectionId,
): Promise<void> {
  if (!leader) return;
  const request = { collection: source.id, follower };
  await retrying(() => Promise.all(shards.requestOf(source, 'setFollower', request)));
}

/** Lets writes be made to the collection alone again; if `of` is given, only where that is the follower. */
export async function endFollowing(
  { leader, store: { shards } }: Pick<ReindexContext, 'leader' | 'store'>,
  id: CollectionId | null,
  of?: CollectionId,
): Promise<void> {
  if (!leader || id === null) return;
  const request = { collection: id, follower: null, ...(of !== undefined && { of }) };
  await retrying(() => Promise.all(shards.requestAll('setFollower', request)));
}

/** The shadow collection is kept, so that the job can be resumed. */
async function failed(context: ReindexContext, id: string, error: unknown): Promise<void> {
  if (!(error instanceof AppError))
    context.store.log.error({ error: internalErrorOf(error), job: id }, 'a reindex job failed');
  await saveJob(context, id, {
    status: 'failed',
    finished_at: nowIso(context.store),
    error: error instanceof AppError ? `${error.code}: ${error.message}` : 'internal_error',
  });
}

/**
 * Removes everything of the job but its record. If that cannot be written, the job returns to `cancelling`, so that it
 * can be cancelled again.
 */
export async function cancelled(context: ReindexContext, id: string): Promise<void> {
  const { staged_id: shadowId, finished_at: finishedAt } = context.jobs.find(id) as StoredJob;
  const finished = { status: 'cancelled', staged_id: null, finished_at: nowIso(context.store) } as const;
  try {
    await saveJob(context, id, finished, shadowId === null ? {} : { dropShadow: [shadowId] });
  } catch (error) {
    showJob(context, id, { status: 'cancelling', staged_id: shadowId, finished_at: finishedAt });
    throw error;
  }
}

/**
 * Ends jobs of a deleted collection that have no run and whose shadow collection is gone; a job with a run notices by
 * itself.
 */
export async function endJobsOf(context: ReindexContext, logId: CollectionId): Promise<void> {
  const {
    jobs,
    store: { shadows },
  } = context;
  const isGone = (id: CollectionId | null): boolean => id === null || !shadows.find(id);
  const waiting = jobs
    .ofCollection(logId)
    .filter(({ status, job_id: id, staged_id: shadowId }) => isLive(status) && !jobs.runs.has(id) && isGone(shadowId));
  for (const { job_id: id } of waiting) await endRun(context, id, undefined, new AppError('collection_not_found'));
}
