// Reindex jobs of a collection, as they go on: progress, rate, time left; with what steers them. Events tell of every
// step. A view.
import { useEffect, useState } from 'preact/hooks';
import type { ReindexJob } from '../../contract/api/reindex.js';
import { ErrorNote } from '../parts/error-note.tsx';
import { useAction, useLoaded } from '../parts/loaded.js';
import { withAnswers, withEvent } from '../plain/jobs.js';
import { listJobs, rollBack, type At } from '../server/api.js';
import { useHappening } from '../state/follow.js';
import { JobCard } from './job-card.tsx';
import { StartForm } from './start-form.tsx';

export function ReindexView(at: At) {
  const { value, error, reload } = useLoaded(`${at.tenant}/${at.collection}`, (signal) => listJobs(at, signal));
  const [jobs, setJobs] = useState<readonly ReindexJob[]>([]);
  const take = (job: ReindexJob) => setJobs((before) => withAnswers(before, [job]));
  useEffect(() => setJobs((before) => (value ? withAnswers(before, value.jobs) : [])), [value]);
  useHappening(({ type, data }) =>
    type === 'job'
      ? setJobs((before) => withEvent(before, data as unknown as ReindexJob))
      : type === 'reset' && reload(),
  );
  return (
    <>
      <StartForm at={at} onStarted={take} />
      <ErrorNote error={error} />
      <section class="jobs" aria-label="Jobs" aria-live="polite">
        {jobs.map((job) => (
          <JobCard key={job.job_id} at={at} job={job} onChanged={take} />
        ))}
        {value && jobs.length === 0 && (
          <p class="empty">
            No job yet. A reindex builds the vectors anew beside the live ones, and searches see the new ones at once
            when all are there.
          </p>
        )}
      </section>
      {jobs.some(({ status, keep_previous_seconds: kept }) => status === 'succeeded' && kept > 0) && (
        <RollBack at={at} />
      )}
    </>
  );
}

function RollBack({ at }: { at: At }) {
  const { isBusy, error, run } = useAction();
  const [isDone, setIsDone] = useState(false);
  return (
    <section class="tools">
      <button
        type="button"
        class="danger"
        disabled={isBusy}
        onClick={() =>
          confirm('Go back to the space before?') && run(async () => (await rollBack(at), setIsDone(true)))
        }
      >
        Go back to the space before
      </button>
      {isDone && <span>Done: searches see the space before.</span>}
      <ErrorNote error={error} />
    </section>
  );
}
