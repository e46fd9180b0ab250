// A reindex job: progress, rate, gate result, and the buttons that its state permits.
import { useEffect, useState } from 'preact/hooks';
import { KEEP_SECONDS_MAX, QUERIES_PAGE_MAX } from '../api/limits.js';
import type { GateResult, ReindexBody, ReindexJob } from '../api/reindex.js';
import { type At, cancelJob, listJobs, rollBack, startReindex, steerJob } from './api.js';
import { useEmbedderChoices } from './collections/catalog.js';
import { Choice, ErrorNote, Field, Tick } from './components.tsx';
import { useHappening } from './events.js';
import { count, moment, ms, span } from './format.js';
import { useAction, useLoaded } from './hooks.js';
import { withAnswers, withEvent } from './updates.js';

interface Props {
  readonly at: At;
  readonly job: ReindexJob;
  readonly onChanged: (job: ReindexJob) => void;
}

function JobCard({ at, job, onChanged }: Props) {
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
        {rate !== undefined && ` · ${count(Math.round(rate))} per second`}
        {eta !== undefined && ` · ${span(eta)} left`} · {moment(createdAt)}
      </p>
      {error && <p class="note bad">{error}</p>}
      {gate && <Gate gate={gate} />}
    </article>
  );
}

/** Buttons of a job. `pause` and `resume` require the admin key. */
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
  gate: { queries, overlap, rank_shift: shift, live_ms: live, shadow_ms: shadow, passed },
}: {
  gate: GateResult;
}) {
  return (
    <p class={passed ? 'note' : 'note bad'}>
      Gate {passed ? 'passed' : 'not passed'}: {count(queries)} searches,{' '}
      {overlap === null ? 'none to compare' : `${Math.round(overlap * 100)} % of the hits in both`}
      {shift !== null && `, moved by ${shift.toFixed(1)} ranks`}
      {live && shadow && `, ${ms(live.mean)} before and ${ms(shadow.mean)} after`}.
    </p>
  );
}

// The form that starts a reindex: embedder or compaction, quality gate, and how long to keep the previous space.

interface Form {
  /** '' keeps the embedder and only rebuilds the graph. */
  readonly embedder: string;
  readonly hasGate: boolean;
  readonly overlap: string;
  readonly lastN: string;
  readonly keepSeconds: string;
}

const EMPTY: Form = { embedder: '', hasGate: false, overlap: '0.8', lastN: '100', keepSeconds: '3600' };

function StartForm({ at, onStarted }: { at: At; onStarted: (job: ReindexJob) => void }) {
  const [form, setForm] = useState(EMPTY);
  const { isBusy, error, run } = useAction();
  const change = (by: Partial<Form>) => setForm({ ...form, ...by });
  const choices = useEmbedderChoices(at.tenant, 'the same: only rebuild memory and graph (compact)');
  const start = (event: Event) => {
    event.preventDefault();
    run(async () => onStarted(await startReindex(at, bodyOf(form))));
  };
  return (
    <form class="tools start" onSubmit={start}>
      <Choice label="Embedder" value={form.embedder} choices={choices} onChoice={(embedder) => change({ embedder })} />
      <Field label="Keep the previous vector space (seconds)">
        <input
          type="number"
          min={0}
          max={KEEP_SECONDS_MAX}
          value={form.keepSeconds}
          onInput={({ currentTarget }) => change({ keepSeconds: currentTarget.value })}
        />
      </Field>
      <Tick label="Switch only if the hits overlap" isOn={form.hasGate} onTurn={(hasGate) => change({ hasGate })} />
      {form.hasGate && <GateFields form={form} onChange={change} />}
      <button type="submit" class="main" disabled={isBusy}>
        Start
      </button>
      <ErrorNote error={error} />
    </form>
  );
}

function GateFields({ form: { overlap, lastN }, onChange }: { form: Form; onChange: (by: Partial<Form>) => void }) {
  return (
    <>
      <Field label="Minimum overlap (0 to 1)">
        <input
          type="number"
          min={0}
          max={1}
          step={0.05}
          value={overlap}
          onInput={({ currentTarget }) => onChange({ overlap: currentTarget.value })}
        />
      </Field>
      <Field label="Searches to compare">
        <input
          type="number"
          min={1}
          max={QUERIES_PAGE_MAX}
          value={lastN}
          onInput={({ currentTarget }) => onChange({ lastN: currentTarget.value })}
        />
      </Field>
    </>
  );
}

function bodyOf({ embedder, hasGate, overlap, lastN, keepSeconds }: Form): ReindexBody {
  return {
    ...(embedder ? { embedder } : { compact: true }),
    ...(hasGate && { gate: { min_overlap: Number(overlap), last_n: Number(lastN) } }),
    keep_previous_seconds: Number(keepSeconds) || 0,
  };
}

// Reindex jobs of a collection with live progress and controls. Events report every step.

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
            No job yet. A reindex builds new vectors beside the live ones, and searches switch to them in one step when
            all are complete.
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
          confirm('Go back to the previous vector space?') && run(async () => (await rollBack(at), setIsDone(true)))
        }
      >
        Go back to the previous vector space
      </button>
      {isDone && <span>Done: searches use the previous vector space.</span>}
      <ErrorNote error={error} />
    </section>
  );
}
