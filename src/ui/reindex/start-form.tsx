// Starts a job: which embedder, or only a new graph; what the new space has to show before; how long the old one is
// kept. A part of the reindex view.
import { useState } from 'preact/hooks';
import type { ReindexBody, ReindexJob } from '../../contract/api/reindex.js';
import { ErrorNote } from '../parts/error-note.tsx';
import { useEmbedderChoices } from '../collections/embedder-choices.js';
import { KEEP_SECONDS_MAX, QUERIES_PAGE_MAX } from '../../contract/limits.js';
import { Choice, Field, Tick } from '../parts/field.tsx';
import { useAction } from '../parts/loaded.js';
import { startReindex, type At } from '../server/api.js';

interface Form {
  /** '' : the same, and only the graph is new. */
  readonly embedder: string;
  readonly hasGate: boolean;
  readonly overlap: string;
  readonly lastN: string;
  readonly keepSeconds: string;
}

const EMPTY: Form = { embedder: '', hasGate: false, overlap: '0.8', lastN: '100', keepSeconds: '3600' };

export function StartForm({ at, onStarted }: { at: At; onStarted: (job: ReindexJob) => void }) {
  const [form, setForm] = useState(EMPTY);
  const { isBusy, error, run } = useAction();
  const change = (by: Partial<Form>) => setForm({ ...form, ...by });
  const choices = useEmbedderChoices(at.tenant, 'the same: only memory and graph anew (compact)');
  const start = (event: Event) => {
    event.preventDefault();
    run(async () => onStarted(await startReindex(at, bodyOf(form))));
  };
  return (
    <form class="tools start" onSubmit={start}>
      <Choice label="Embedder" value={form.embedder} choices={choices} onChoice={(embedder) => change({ embedder })} />
      <Field label="Keep the old space (seconds)">
        <input
          type="number"
          min={0}
          max={KEEP_SECONDS_MAX}
          value={form.keepSeconds}
          onInput={({ currentTarget }) => change({ keepSeconds: currentTarget.value })}
        />
      </Field>
      <Tick label="Gate" isOn={form.hasGate} onTurn={(hasGate) => change({ hasGate })} />
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
      <Field label="Least overlap">
        <input
          type="number"
          min={0}
          max={1}
          step={0.05}
          value={overlap}
          onInput={({ currentTarget }) => onChange({ overlap: currentTarget.value })}
        />
      </Field>
      <Field label="of the last searches">
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
