// The form of the search settings: k, mode, weights, filters, ef, reranking. The query field is not part of it.
import { EF_MAX, FUSION_K_DEFAULT, FUSION_K_MAX, K_MAX, RERANK_DEPTH_DEFAULT } from '../../api/limits.js';
import { Choice, Field, Tick } from '../components.tsx';
import { FilterRows } from './filter-rows.tsx';
import type { Settings } from './settings.js';

interface SettingsFormProps {
  readonly settings: Settings;
  readonly onChange: (change: Partial<Settings>) => void;
}

const MODES = [
  ['', 'the collection’s mode'],
  ['vector', 'vector: by meaning'],
  ['boost', 'boost: meaning, and a little for words'],
  ['hybrid', 'hybrid: meaning and words'],
] as const;
const METHODS = [
  ['', 'the server’s default'],
  ['rank', 'by rank'],
  ['score', 'by score'],
] as const;
const CONTENT = [
  ['contains', 'contains'],
  ['phrase', 'has the phrase'],
  ['prefix', 'has words that begin with'],
  ['exact', 'is exactly'],
] as const;

export function SettingsForm({ settings, onChange }: SettingsFormProps) {
  const { mode, k, filters, contentOp, contentValue } = settings;
  return (
    <div class="settings">
      <Choice label="Mode" value={mode} choices={MODES} onChoice={(value) => onChange({ mode: value })} />
      {mode === 'hybrid' && <Fusion settings={settings} onChange={onChange} />}
      <Field label="Hits (k)">
        <input
          type="number"
          min={1}
          max={K_MAX}
          value={k}
          onInput={({ currentTarget }) => onChange({ k: currentTarget.value })}
        />
      </Field>
      <FilterRows value={filters} onChange={(value) => onChange({ filters: value })} />
      <fieldset>
        <legend>Text</legend>
        <Choice
          label="The chunk"
          value={contentOp}
          choices={CONTENT}
          onChoice={(value) => onChange({ contentOp: value })}
        />
        <input
          value={contentValue}
          placeholder="any text"
          aria-label="Text of the chunk"
          onInput={({ currentTarget }) => onChange({ contentValue: currentTarget.value })}
        />
      </fieldset>
      {mode !== 'vector' && <Words settings={settings} onChange={onChange} />}
      <Groups settings={settings} onChange={onChange} />
      <EfSetting settings={settings} onChange={onChange} />
      <Reranking settings={settings} onChange={onChange} />
      <Field label="Also search these collections" hint="Their hits are merged by score or by rank.">
        <input
          value={settings.also}
          placeholder="names, with commas"
          spellcheck={false}
          onInput={({ currentTarget }) => onChange({ also: currentTarget.value })}
        />
      </Field>
      <Tick
        label="Also search the common collection"
        isOn={settings.common !== ''}
        onTurn={(isOn) => onChange({ common: isOn ? '1' : '' })}
      />
      <Field label="Further fields of the body, as JSON" hint="Such as boost_by, queries, like, context or min_score.">
        <textarea
          rows={2}
          value={settings.further}
          placeholder="{}"
          spellcheck={false}
          onInput={({ currentTarget }) => onChange({ further: currentTarget.value })}
        />
      </Field>
    </div>
  );
}

const WORDS = [
  ['fuzzy', 'Forgive typing errors'],
  ['prefix', 'The last word may be a beginning'],
  ['syntax', 'Read "quotes", -minus and OR'],
] as const;

function Words({ settings, onChange }: SettingsFormProps) {
  return (
    <fieldset>
      <legend>Words of the query</legend>
      {WORDS.map(([name, label]) => (
        <Tick label={label} isOn={settings[name] !== ''} onTurn={(isOn) => onChange({ [name]: isOn ? '1' : '' })} />
      ))}
    </fieldset>
  );
}

function Groups({ settings: { groupBy, groupSize, diverse }, onChange }: SettingsFormProps) {
  return (
    <fieldset>
      <legend>Groups</legend>
      <Field label="Group by" hint="docid or a metadata field; empty: no groups.">
        <input
          value={groupBy}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => onChange({ groupBy: currentTarget.value })}
        />
      </Field>
      {groupBy.trim() !== '' && (
        <Field label="Hits of each group" hint="Empty: 1.">
          <input
            type="number"
            min={1}
            value={groupSize}
            onInput={({ currentTarget }) => onChange({ groupSize: currentTarget.value })}
          />
        </Field>
      )}
      <Tick
        label="Choose hits that differ from each other"
        isOn={diverse !== ''}
        onTurn={(isOn) => onChange({ diverse: isOn ? '1' : '' })}
      />
    </fieldset>
  );
}

function EfSetting({ settings: { ef, exact }, onChange }: SettingsFormProps) {
  return (
    <fieldset>
      <legend>Graph search</legend>
      <Tick
        label="Exact: compare with every vector instead"
        isOn={exact !== ''}
        onTurn={(isOn) => onChange({ exact: isOn ? '1' : '' })}
      />
      {exact === '' && (
        <Field label="ef" hint="Candidates it keeps. Empty: chosen automatically for a recall of 0.97.">
          <input
            type="number"
            min={1}
            max={EF_MAX}
            value={ef}
            onInput={({ currentTarget }) => onChange({ ef: currentTarget.value })}
          />
        </Field>
      )}
    </fieldset>
  );
}

function Reranking({ settings: { reranker, depth }, onChange }: SettingsFormProps) {
  return (
    <fieldset>
      <legend>Reranking</legend>
      <Field label="Reranker" hint="Its key in the configuration; empty: none.">
        <input
          value={reranker}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => onChange({ reranker: currentTarget.value })}
        />
      </Field>
      {reranker !== '' && (
        <Field label="Hits to rerank" hint={`Empty: ${RERANK_DEPTH_DEFAULT}, and at least k.`}>
          <input
            type="number"
            min={1}
            max={K_MAX}
            value={depth}
            onInput={({ currentTarget }) => onChange({ depth: currentTarget.value })}
          />
        </Field>
      )}
    </fieldset>
  );
}

function Fusion({ settings: { method, fusionK, vector, lexical }, onChange }: SettingsFormProps) {
  return (
    <fieldset>
      <legend>Fusion</legend>
      <Choice label="Method" value={method} choices={METHODS} onChoice={(value) => onChange({ method: value })} />
      {method !== '' && (
        <>
          <Weight
            label="Weight of the vector ranking"
            value={vector}
            onChange={(value) => onChange({ vector: value })}
          />
          <Weight
            label="Weight of the text ranking"
            value={lexical}
            onChange={(value) => onChange({ lexical: value })}
          />
        </>
      )}
      {method === 'rank' && (
        <Field label="Constant k in weight / (k + rank)" hint={`Empty: ${FUSION_K_DEFAULT}, or the server’s default.`}>
          <input
            type="number"
            min={0}
            max={FUSION_K_MAX}
            value={fusionK}
            onInput={({ currentTarget }) => onChange({ fusionK: currentTarget.value })}
          />
        </Field>
      )}
    </fieldset>
  );
}

function Weight({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <Field label={`${label} ${value}`}>
      <input
        type="range"
        min={0}
        max={2}
        step={0.1}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Field>
  );
}
