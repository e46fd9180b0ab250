// The judgement sets of a collection: one is chosen, stored from two files, or deleted.
import { useState } from 'preact/hooks';
import type { JudgementSetSummary } from '../../api/judgements.js';
import { judgedQueries } from '../../ranking/side-by-side.js';
import { type At, deleteJudgementSet, putJudgementSet, whoAmI } from '../api.js';
import { Choice, ErrorNote, Field } from '../components.tsx';
import { count, moment } from '../format.js';
import { useAction, useLoaded } from '../hooks.js';

interface JudgementSetsProps {
  readonly at: At;
  readonly sets: readonly JudgementSetSummary[];
  readonly chosen: string | undefined;
  readonly onChoice: (set: string) => void;
  /** Called when a set was stored, with its name, or deleted, with ''. */
  readonly onChanged: (set: string) => void;
}

export function JudgementSets({ at, sets, chosen, onChoice, onChanged }: JudgementSetsProps) {
  const { value: caller } = useLoaded('whoami', (signal) => whoAmI(signal));
  const { isBusy, error, run } = useAction();
  const canManage = caller !== undefined && (caller.admin || caller.scopes.includes('manage'));
  const set = sets.find((one) => one.set === chosen);
  const remove = () =>
    chosen !== undefined &&
    confirm(`Delete the judgement set ${chosen}?`) &&
    run(async () => (await deleteJudgementSet(at, chosen), onChanged('')));
  return (
    <>
      {sets.length === 0 && (
        <p class="empty">
          No judgement set yet. A set has queries and the documents that are right for them; with one, settings of
          searches are measured side by side.
        </p>
      )}
      {chosen !== undefined && (
        <div class="tools">
          <Choice
            label="Judgement set"
            value={chosen}
            choices={sets.map(({ set: name, query_count: queries, judgement_count: judgements }) => [
              name,
              `${name}: ${count(queries)} queries, ${count(judgements)} judgements`,
            ])}
            onChoice={onChoice}
          />
          {set && <span class="faint">stored {moment(set.updated_at)}</span>}
          {canManage && (
            <button type="button" class="danger" disabled={isBusy} onClick={remove}>
              Delete
            </button>
          )}
        </div>
      )}
      <ErrorNote error={error} />
      {canManage && (
        <details class="fold" open={sets.length === 0}>
          <summary>Store a judgement set</summary>
          <StoreForm at={at} onStored={onChanged} />
        </details>
      )}
    </>
  );
}

function StoreForm({ at, onStored }: { at: At; onStored: (set: string) => void }) {
  const [name, setName] = useState('');
  const [queries, setQueries] = useState<File>();
  const [judgements, setJudgements] = useState<File>();
  const { isBusy, error, run } = useAction();
  const store = (event: Event) => {
    event.preventDefault();
    if (!queries || !judgements) return;
    run(async () => {
      const named = async (file: File) => ({ name: file.name, text: await file.text() });
      const body = { queries: judgedQueries(await named(queries), await named(judgements)) };
      const { set } = await putJudgementSet(at, name.trim(), body);
      onStored(set);
    });
  };
  const file = (take: (file: File | undefined) => void) => (event: Event) =>
    take((event.currentTarget as HTMLInputElement).files?.[0]);
  return (
    <form class="tools store" onSubmit={store}>
      <Field label="Name">
        <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </Field>
      <Field label="Queries" hint='JSON lines with "_id" and "text"'>
        <input type="file" name="queries" required onChange={file(setQueries)} />
      </Field>
      <Field label="Judgements" hint="query id, document id, grade, with tabs between">
        <input type="file" name="judgements" required onChange={file(setJudgements)} />
      </Field>
      <button type="submit" class="main" disabled={isBusy}>
        Store
      </button>
      <ErrorNote error={error} />
    </form>
  );
}
