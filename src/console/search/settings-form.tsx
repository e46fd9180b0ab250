// How to search: k, mode, weights, filters, breadth, reranking. Without the query, which stands above it.
// A part of the search view, and twice of a comparison.
import { EF_MAX, FUSION_K_DEFAULT, FUSION_K_MAX, K_MAX, RERANK_DEPTH_DEFAULT } from '../../contract/limits.js';
import { Choice, Field, Tick } from '../parts/field.tsx';
import type { Settings } from '../plain/search-settings.js';
import { FilterRows } from './filter-rows.tsx';

interface Props {
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
  ['', 'as the server has it'],
  ['rank', 'by rank'],
  ['score', 'by score'],
] as const;
const CONTENT = [
  ['contains', 'contains'],
  ['phrase', 'has the phrase'],
  ['prefix', 'has words beginning'],
  ['exact', 'is exactly'],
] as const;

export function SettingsForm({ settings, onChange }: Props) {
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
      <Breadth settings={settings} onChange={onChange} />
      <Reranking settings={settings} onChange={onChange} />
      <Tick
        label="The common collection too"
        isOn={settings.common !== ''}
        onTurn={(isOn) => onChange({ common: isOn ? '1' : '' })}
      />
    </div>
  );
}

function Breadth({ settings: { ef, exact }, onChange }: Props) {
  return (
    <fieldset>
      <legend>Breadth</legend>
      <Tick
        label="Exact: compare with every vector"
        isOn={exact !== ''}
        onTurn={(isOn) => onChange({ exact: isOn ? '1' : '' })}
      />
      {exact === '' && (
        <Field label="ef" hint="Empty: chosen for a recall of .97.">
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

function Reranking({ settings: { reranker, depth }, onChange }: Props) {
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
        <Field label="Hits it reads" hint={`Empty: ${RERANK_DEPTH_DEFAULT}, and at least k.`}>
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

function Fusion({ settings: { method, fusionK, vector, lexical }, onChange }: Props) {
  return (
    <fieldset>
      <legend>Fusion</legend>
      <Choice label="Method" value={method} choices={METHODS} onChoice={(value) => onChange({ method: value })} />
      {method !== '' && (
        <>
          <Weight label="Meaning weighs" value={vector} onChange={(value) => onChange({ vector: value })} />
          <Weight label="Words weigh" value={lexical} onChange={(value) => onChange({ lexical: value })} />
        </>
      )}
      {method === 'rank' && (
        <Field label="Added to each rank" hint={`Empty: ${FUSION_K_DEFAULT}, or as the server has it.`}>
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
