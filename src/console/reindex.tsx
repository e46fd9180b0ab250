// One job: where it stands, how fast it goes, what its gate found, and the buttons that its state allows.
// A part of the reindex view.
import type { GateResult, ReindexJob } from '../../contract/api/reindex.js';
import { ErrorNote } from '../parts/error-note.tsx';
import { useAction } from '../parts/loaded.js';
import { count, moment, ms, span } from '../parts/words.js';
import { cancelJob, steerJob, type At } from '../server/api.js';

interface Props {
  readonly at: At;
  readonly job: ReindexJob;
  readonly onChanged: (job: ReindexJob) => void;
}

export function JobCard({ at, job, onChanged }: Props) {
  const {
    status,
    target,
    compact,
    completed_chunks: done,
    total_chunks: total,
    rate,
    eta_seconds: eta,
    created_at: createdAt,
    error,
    gate_result: gate,
  } = job;
  return (
    <article class={`card job ${status}`} aria-label={`Job of ${moment(createdAt)}`}>
      <header>
        <strong>{status}</strong>
        <span>{compact ? 'compact' : `to ${target.embedder_type}:${target.embed_model}`}</span>
        <span class="grow" />
        <Steering at={at} job={job} onChanged={onChanged} />
      </header>
      <progress max={total || 1} value={status === 'succeeded' ? total || 1 : done} aria-label="Chunks done" />
      <p class="faint">
        {count(done)} of {count(total)} chunks
        {rate !== undefined && ` · ${count(Math.round(rate))} a second`}
        {eta !== undefined && ` · ${span(eta)} left`} · {moment(createdAt)}
      </p>
      {error && <p class="note bad">{error}</p>}
      {gate && <Gate gate={gate} />}
    </article>
  );
}

/** Pausing is the admin's. */
function Steering({ at, job: { job_id: id, status }, onChanged }: Props) {
  const { isBusy, error, run } = useAction();
  const steer = (change: 'pause' | 'resume') => run(async () => onChanged(await steerJob(id, change)));
  const isOver = status === 'succeeded' || status === 'cancelled';
  return (
    <>
      {(status === 'running' || status === 'queued') && (
        <button type="button" disabled={isBusy} onClick={() => steer('pause')}>
          Pause
        </button>
      )}
      {(status === 'paused' || status === 'failed') && (
        <button type="button" disabled={isBusy} onClick={() => steer('resume')}>
          Resume
        </button>
      )}
      {!isOver && (
        <button
          type="button"
          class="danger"
          disabled={isBusy}
          onClick={() => run(async () => onChanged(await cancelJob(at, id)))}
        >
          Cancel
        </button>
      )}
      <ErrorNote error={error} />
    </>
  );
}

function Gate({
  gate: { queries, overlap, rank_shift: shift, live_ms: live, staged_ms: staged, passed },
}: {
  gate: GateResult;
}) {
  return (
    <p class={passed ? 'note' : 'note bad'}>
      Gate {passed ? 'passed' : 'not passed'}: {count(queries)} searches,{' '}
      {overlap === null ? 'none to compare' : `${Math.round(overlap * 100)} % of the hits in both`}
      {shift !== null && `, moved by ${shift.toFixed(1)} ranks`}
      {live && staged && `, ${ms(live.mean)} before and ${ms(staged.mean)} after`}.
    </p>
  );
}
