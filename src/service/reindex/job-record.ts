// How a reindex job ends, other than well: stopped by a wish, failed, cancelled, or with its collection gone.
// Used by the other files of this folder and where collections are deleted or restored over; front thread.
import { AppError, type ErrorCode } from '../../contract/errors.js';
import type { CollectionId } from '../../contract/ids.js';
import type { StoredJob } from '../../contract/reindex.js';
import type { Context } from '../context.js';
import { forgetStaged } from '../stage-collection.js';
import type { Run } from './jobs.js';
import { saveJob, showJob } from './save-job.js';
import { isLive } from './states.js';

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
  if (!(error instanceof AppError))
    context.log.error({ fault: error instanceof Error ? error.stack : String(error), job: id }, 'a reindex job failed');
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
