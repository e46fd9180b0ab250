// What the torture program knows of a slot's reindex jobs: the latest one, and which space the collection is in. A job
// goes on while others ask for other things, so its state is known as of the last look, and a rule says what may have
// become of it since. Pure.
import type { ReindexJob, ReindexStatus } from '../../../src/contract/api/reindex.js';

export interface KnownJob {
  /** Undefined until its beginning has been answered. */
  id: string | undefined;
  /** Of the job before it. */
  after: string | undefined;
  /** As of the last look. */
  status: ReindexStatus;
  /** Key of the space that it builds. */
  to: string;
  /** The space before it is kept for a rollback. */
  keeps: boolean;
  /** It has a gate that it may fail at. */
  mayFail: boolean;
  /** Its collection is not there any more: an archive took the place. It ends in any way, without an effect. */
  isIdle: boolean;
  /** Nothing tells whether that archive took the place: it may go on and switch after all. */
  maySwitch?: boolean;
}

export interface Reindexing {
  /** Key of the space of the collection, but for what its job has done since; undefined where it is not known. */
  space: string | undefined;
  job: KnownJob | undefined;
  /** Where a rollback leads to: null for nowhere, undefined where it is not known. */
  wayBack: string | null | undefined;
}

/** What the server says. */
export interface FoundJobs {
  space: string;
  /** Newest first. */
  jobs: readonly Pick<ReindexJob, 'job_id' | 'status'>[];
}

const GOES: readonly ReindexStatus[] = ['queued', 'running', 'committing', 'succeeded'];
const ENDED: ReadonlySet<ReindexStatus> = new Set<ReindexStatus>(['cancelled', 'failed', 'succeeded']);

/**
 * What a job may be found as, after a restart too. A job that was seen to fail may go on: its end was shown before it
 * was on disk.
 */
const NEXT: Readonly<Record<ReindexStatus, readonly ReindexStatus[]>> = {
  queued: GOES,
  running: GOES,
  committing: GOES,
  pausing: ['pausing', 'paused'],
  paused: ['pausing', 'paused'],
  cancelling: ['cancelling', 'cancelled'],
  cancelled: ['cancelled'],
  failed: [...GOES, 'failed'],
  succeeded: ['succeeded'],
};

export const newReindexing = (space: string): Reindexing => ({ space, job: undefined, wayBack: null });

export const hasEnded = (status: ReindexStatus): boolean => ENDED.has(status);
export const isLive = ({ job }: Reindexing): boolean => job !== undefined && !hasEnded(job.status);
export const isPaused = ({ job }: Reindexing): boolean => job?.status === 'paused' || job?.status === 'pausing';

export const withJob = (reindexing: Reindexing, status: ReindexStatus): Reindexing => ({
  ...reindexing,
  job: reindexing.job && { ...reindexing.job, status },
});

/** Once the collection is another, with the same log. */
export const replaced = ({ job }: Reindexing, space: string | undefined): Reindexing => ({
  space,
  wayBack: null,
  job: job && { ...job, isIdle: true },
});

/** What of `found` cannot be; undefined where all can. */
export function contradiction(known: Reindexing, { space, jobs: [newest] }: FoundJobs): string | undefined {
  const { job } = known;
  const isLatest =
    job?.id === undefined && job ? newest !== undefined && newest.job_id !== job.after : newest?.job_id === job?.id;
  if (!isLatest) return `its latest job is ${newest?.job_id ?? 'none'}, not ${job?.id ?? (job ? 'a new one' : 'none')}`;
  if (!job || !newest)
    return known.space === undefined || space === known.space ? undefined : `it is in ${space}, not ${known.space}`;
  const isPossible =
    job.isIdle || NEXT[job.status].includes(newest.status) || (job.mayFail && newest.status === 'failed');
  if (!isPossible) return `its job is ${newest.status}, and was ${job.status}`;
  const expected = hasSwitched(job, newest.status) ? job.to : known.space;
  const mayHaveSwitched =
    job.maySwitch === true && newest.status === 'succeeded' && job.status !== 'succeeded' && space === job.to;
  return expected === undefined || space === expected || mayHaveSwitched
    ? undefined
    : `it is in ${space}, not ${expected}: its job is ${newest.status}`;
}

/** What is known once `found` was seen; it contradicts nothing. */
export function seen(known: Reindexing, { space, jobs: [newest] }: FoundJobs): Reindexing {
  const { job, wayBack } = known;
  if (!job || !newest) return { ...known, space };
  const back = hasSwitched(job, newest.status) ? (job.keeps ? known.space : null) : wayBack;
  return { space, wayBack: back, job: { ...job, id: newest.job_id, status: newest.status } };
}

const hasSwitched = (job: KnownJob, status: ReindexStatus): boolean =>
  !job.isIdle && status === 'succeeded' && job.status !== 'succeeded';
