// How a reindex job ends, other than well: stopped by a wish, failed, cancelled, or with its collection gone.
// Used by the other files of this folder and where collections are deleted or restored over; front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type ErrorCode } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { JobChange, StoredJob } from '../../storage/catalog-commands.js';
import { forgetStaged } from '../collections/catalog-changes.js';
import type { Context } from '../context.js';
import { type Run, isLive, toldJob } from './jobs.js';
import { faultOf } from '../../base/thread.js';

// Tries again what fails because a worker or an endpoint is away for a moment: a job is not to fail of that. Used by
// the other files of this folder, on the front thread.

const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'shard_unavailable',
  'embedder_unavailable',
  'overloaded',
  'not_ready',
]);
/** Twice as long each time: some 13 s altogether. */
const FIRST_WAIT_MS = 100;
const ATTEMPTS_MAX = 8;
/** What asks for more patience than this has none to expect here. */
const RETRY_AFTER_S_MAX = 30;

/** Rejects with the last failure, or as soon as the signal is aborted. */
export async function retrying<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || signal?.aborted || !isPassing(error)) throw error;
      await sleep(FIRST_WAIT_MS * 2 ** (attempt - 1), undefined, { signal }).catch(() => undefined);
    }
  }
}

const isPassing = (error: unknown): boolean =>
  error instanceof AppError && PASSING.has(error.code) && (error.options.retryAfterS ?? 0) <= RETRY_AFTER_S_MAX;

// Changes of a job's record: shown here at once, then committed by the worker of shard 0, the latest state where
// several come together; and told to whoever follows the events of the collection. Used by the other files of this
// folder; front thread.

/** Resolves when it is on disk. Rejects where shard 0 stays away. */
export async function saveJob(
  context: Context,
  id: string,
  patch: Partial<StoredJob>,
  others: Omit<JobChange, 'job'> = {},
): Promise<StoredJob> {
  const job = showJob(context, id, patch);
  // Sent as it is then: of two that are on their way neither brings back what the other has changed.
  await retrying(async () => context.shards.ask(0, 'saveJob', { job: context.reindexJobs.find(id) ?? job, ...others }));
  return job;
}

/** As `saveJob`, without the commit: for what another transaction commits. */
export function showJob(
  { reindexJobs, catalog, events, nowMs }: Context,
  id: string,
  patch: Partial<StoredJob>,
): StoredJob {
  const before = reindexJobs.find(id) as StoredJob;
  const { tenant, name } = catalog.findByLog(before.log_id) ?? { tenant: before.tenant, name: before.collection };
  const job = reindexJobs.put({
    ...before,
    ...patch,
    tenant,
    collection: name,
    updated_at: new Date(nowMs()).toISOString(),
  });
  events.publish(job.log_id, 'job', toldJob(job));
  return job;
}

const GONE = new Set<ErrorCode>(['collection_not_found', 'collection_changed']);

/** `why` it was stopped, where it was; else `error` is why it failed. Never rejects. */
export async function endRun(
  context: Context,
  id: string,
  why: Parameters<Run['stop']>[0] | undefined,
  error: unknown,
): Promise<void> {
  const { reindexJobs, staged, log } = context;
  const { rate: _, eta_seconds: _eta, unlinked_chunks: _unlinked, ...job } = reindexJobs.find(id) as StoredJob;
  reindexJobs.put(job);
  if (job.staged_id !== null && staged.find(job.staged_id)) staged.setMode(job.staged_id, 'later');
  const isGone = error instanceof AppError && GONE.has(error.code);
  try {
    if (why === 'cancel') await cancelled(context, id);
    else if (why === 'pause' && !isGone) await saveJob(context, id, { status: 'paused' });
    else if (why !== 'close') await failed(context, id, error);
  } catch (failure) {
    log.error({ fault: String(failure), job: id }, 'the end of a reindex job could not be written');
  }
}

/** What it has built stays, so that it can go on. */
async function failed(context: Context, id: string, error: unknown): Promise<void> {
  if (!(error instanceof AppError)) context.log.error({ fault: faultOf(error), job: id }, 'a reindex job failed');
  await saveJob(context, id, {
    status: 'failed',
    finished_at: nowIn(context),
    error: error instanceof AppError ? `${error.code}: ${error.message}` : 'internal_error',
  });
}

/** Leaves no trace but the record. Where that cannot be written the job is as it was, and can be cancelled again. */
export async function cancelled(context: Context, id: string): Promise<void> {
  const { staged_id: stagedId, finished_at: finishedAt } = context.reindexJobs.find(id) as StoredJob;
  const finished = { status: 'cancelled', staged_id: null, finished_at: nowIn(context) } as const;
  try {
    await saveJob(context, id, finished, stagedId === null ? {} : { unstage: [stagedId] });
  } catch (error) {
    showJob(context, id, { status: 'cancelling', staged_id: stagedId, finished_at: finishedAt });
    throw error;
  }
  if (stagedId !== null) await forgetStaged(context, stagedId);
}

/**
 * Jobs that wait, and of which nothing is left, are told that there is nothing to wait for; one that runs finds out.
 */
export async function endJobsOf(context: Context, logId: CollectionId): Promise<void> {
  const { reindexJobs, staged } = context;
  const isGone = (id: CollectionId | null): boolean => id === null || !staged.find(id);
  const waiting = reindexJobs
    .ofCollection(logId)
    .filter(
      ({ status, job_id: id, staged_id: stagedId }) => isLive(status) && !reindexJobs.runs.has(id) && isGone(stagedId),
    );
  for (const { job_id: id } of waiting) await endRun(context, id, undefined, new AppError('collection_not_found'));
}

const nowIn = ({ nowMs }: Context): string => new Date(nowMs()).toISOString();
