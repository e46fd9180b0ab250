// Begins the work on jobs: on a new or resumed one, and at the start of the server on those that its end has
// interrupted. Called by the use cases of this folder and by open-shard.ts; front thread.
import { AppError } from '../../contract/errors.js';
import type { StoredJob } from '../../contract/reindex.js';
import type { Context } from '../context.js';
import { cancelled, endRun } from './end-job.js';
import { sweepKept } from './kept-spaces.js';
import { JobRun } from './run-job.js';
import { saveJob } from './save-job.js';
import { afterRestart, isLive } from './states.js';

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
