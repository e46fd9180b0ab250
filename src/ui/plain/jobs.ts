// The jobs of a collection as the view has them, when news of them come by three ways: events, answers to what was
// asked for, and the list. Pure; used by the reindex view.
import type { ReindexJob } from '../../contract/api/reindex.js';

type Jobs = readonly ReindexJob[];

/** An event is of now: events come in order. */
export const withEvent = (jobs: Jobs, job: ReindexJob): Jobs =>
  sorted([job, ...jobs.filter(({ job_id: id }) => id !== job.job_id)]);

/** An answer may come behind an event that has told of what happened since. */
export function withAnswers(jobs: Jobs, answers: Jobs): Jobs {
  const isNews = (job: ReindexJob): boolean =>
    !jobs.some(({ job_id: id, updated_at: at }) => id === job.job_id && at >= job.updated_at);
  return answers.filter(isNews).reduce(withEvent, jobs);
}

/** The latest first. */
const sorted = (jobs: Jobs): Jobs => [...jobs].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
