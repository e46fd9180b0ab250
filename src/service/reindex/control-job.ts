// Use cases: pause, resume and cancel a reindex job. Asked again in the state that it leads to, each answers the record
// as it is. Called by the reindex endpoints; front thread.
import { AppError } from '../../contract/errors.js';
import type { StoredJob } from '../../contract/reindex.js';
import type { Context } from '../context.js';
import { beginRun } from './begin-runs.js';
import { cancelled } from './end-job.js';
import { saveJob } from './save-job.js';
import { changes } from './states.js';

/** It pauses when the page that is under way is on disk. Throws 409 `reindex_state_conflict`. */
export async function pauseJob(context: Context, job: StoredJob): Promise<StoredJob> {
  if (!changes('pause', job.status)) return job;
  const run = context.reindexJobs.runs.get(job.job_id);
  if (!run) return saveJob(context, job.job_id, { status: 'paused' });
  const pausing = saveJob(context, job.job_id, { status: 'pausing' });
  void run.stop('pause');
  await pausing;
  return latest(context, job);
}

/**
 * Goes on from the persisted pages. Throws 409 `reindex_state_conflict`, and `reindex_conflict` where another job has
 * begun since it failed.
 */
export async function resumeJob(context: Context, job: StoredJob): Promise<StoredJob> {
  const { reindexJobs, staged } = context;
  if (!changes('resume', job.status)) return job;
  if (job.staged_id === null || !staged.find(job.staged_id))
    throw new AppError('reindex_state_conflict', 'What the job had built is gone: start another one.');
  const resume = async (): Promise<void> => {
    // A run that has just failed or paused writes its end first.
    await reindexJobs.runs.get(job.job_id)?.stop('pause');
    await saveJob(context, job.job_id, { status: 'queued' });
    beginRun(context, job);
  };
  await (job.status === 'failed' ? reindexJobs.claim(job.log_id, resume) : resume());
  return latest(context, job);
}

/** Resolves when nothing but the record is left of it. Throws 409 `reindex_state_conflict`. */
export async function cancelJob(context: Context, job: StoredJob): Promise<StoredJob> {
  const run = context.reindexJobs.runs.get(job.job_id);
  // A cancel that could not be written goes on when it is asked for again.
  if (!changes('cancel', job.status) && job.status !== 'cancelling') return job;
  if (run?.isSwitching) throw new AppError('reindex_state_conflict', 'The new space is taking over right now.');
  const cancelling = saveJob(context, job.job_id, { status: 'cancelling' });
  const ended = run?.stop('cancel');
  await cancelling;
  await ended;
  // A run that was just pausing or failing has written that.
  if (latest(context, job).status === 'cancelling') await cancelled(context, job.job_id);
  return latest(context, job);
}

const latest = ({ reindexJobs }: Context, { job_id: id }: StoredJob): StoredJob => reindexJobs.find(id) as StoredJob;
