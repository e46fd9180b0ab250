// The reindex jobs as the front thread knows them: their records, which the worker of shard 0 has for good, and what
// works on them now. One instance for each server, in the context; front thread.
import { AppError } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { ReindexJob, ReindexStatus } from '../../api/reindex.js';
import type { StoredJob } from '../../storage/catalog-commands.js';

// The states of a reindex job, and what can be asked of it in each. Pure.
// Used by the other files of this folder.

type Wish = 'pause' | 'resume' | 'cancel';

interface Rule {
  /** States that the wish changes. */
  from: readonly ReindexStatus[];
  /** States that it leads to: asked again there it changes nothing, for an answer may have been lost. */
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

/** A collection has one such job at most. */
export const isLive = (status: ReindexStatus): boolean => LIVE.has(status);
const isFinished = (status: ReindexStatus): boolean => FINISHED.has(status);

/** Whether it changes anything. Throws 409 `reindex_state_conflict`. */
export function changes(wish: Wish, status: ReindexStatus): boolean {
  const { from, leadsTo } = RULES[wish];
  if (from.includes(status)) return true;
  if (leadsTo.includes(status)) return false;
  throw new AppError('reindex_state_conflict', `The job is ${status}.`, { details: { status } });
}

/** What a job goes on as that the end of the process interrupted; undefined where it stays as it is. */
export function afterRestart(status: ReindexStatus): ReindexStatus | undefined {
  if (status === 'pausing') return 'paused';
  return status === 'running' || status === 'committing' ? 'queued' : undefined;
}

/** Work on a job. `close`: the server stops, and the job goes on at its next start. */
export interface Run {
  /** Resolves when the work has ended. */
  stop(why: 'pause' | 'cancel' | 'close'): Promise<void>;
  /** The name is being switched: there is no way back from here. */
  readonly isSwitching: boolean;
}

/** So many finished jobs of a collection are told of, and of all together. */
const KEPT_OF_COLLECTION = 20;
const KEPT_OF_ALL = 1000;

export class ReindexJobs {
  private readonly byIds = new Map<string, StoredJob>();
  /** Collections, by the id of their log, that something begins or goes back on. */
  private readonly claimed = new Set<CollectionId>();
  /** By job. */
  readonly runs = new Map<string, Run>();
  /** How many have ended since the start, and how. */
  readonly ended = new Map<ReindexJob['status'], number>();
  private isLoaded = false;
  hasResumed = false;
  private timer: NodeJS.Timeout | undefined;

  /** Once, at the start: from then on this is what is true, and the store follows. */
  load(jobs: readonly StoredJob[]): void {
    if (this.isLoaded) return;
    this.isLoaded = true;
    for (const job of jobs) this.byIds.set(job.job_id, job);
  }

  find(id: string): StoredJob | undefined {
    return this.byIds.get(id);
  }

  /** Newest first; ids grow. */
  all(): StoredJob[] {
    return [...this.byIds.values()].sort((a, b) => (a.job_id < b.job_id ? 1 : -1));
  }

  /** Newest first. */
  ofCollection(logId: CollectionId): StoredJob[] {
    return this.all().filter((job) => job.log_id === logId);
  }

  *live(): Generator<StoredJob> {
    for (const job of this.byIds.values()) if (isLive(job.status)) yield job;
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

  /** Finished jobs that make room for another one of the collection; none that has built something. */
  surplus(logId: CollectionId): string[] {
    const finished = this.all().filter(({ status, staged_id: id }) => isFinished(status) && id === null);
    const own = finished.filter((job) => job.log_id === logId).slice(KEPT_OF_COLLECTION - 1);
    return [...new Set([...own, ...finished.slice(KEPT_OF_ALL - 1)])].map(({ job_id: id }) => id);
  }

  /**
   * Runs `work` while nothing else begins on the collection. Throws 409 `reindex_conflict` where something does, or has
   * not ended.
   */
  async claim<T>(logId: CollectionId, work: () => Promise<T>): Promise<T> {
    const live = this.ofCollection(logId).find(({ status }) => isLive(status));
    if (live || this.claimed.has(logId))
      throw new AppError('reindex_conflict', undefined, {
        ...(live && { details: { job_id: live.job_id, status: live.status } }),
      });
    this.claimed.add(logId);
    try {
      return await work();
    } finally {
      this.claimed.delete(logId);
    }
  }

  /** Until it is closed. */
  every(ms: number, work: () => void): void {
    this.timer = setInterval(work, ms).unref();
  }

  /** Stops all work; the jobs go on at the next start. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([...this.runs.values()].map((run) => run.stop('close')));
  }
}

/** What clients see of a job. */
export function toldJob({ log_id: _log, staged_id: _staged, cursors: _cursors, ...job }: StoredJob): ReindexJob {
  return job;
}
