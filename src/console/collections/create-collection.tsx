// Dialog that creates a collection: name, and optionally embedder, chunking, default mode and language, or the
// dimensions of the user's own vectors.
import { useState } from 'preact/hooks';
import type { CreateBody } from '../../api/collections.js';
import { CHUNKING_STRATEGIES, type ChunkingStrategy, LANGUAGES } from '../../api/choices.js';
import { CHUNK_SIZE_MAX, CHUNK_SIZE_MIN, DIM_MAX } from '../../api/limits.js';
import { Choice, Dialog, ErrorNote, Field, NameField } from '../components.tsx';
import { useAction } from '../hooks.js';
import { createCollection } from '../api.js';
import { go } from '../state.js';
import { loadCatalog, useEmbedderChoices } from './catalog.js';

const MODES = [
  ['', 'the server’s default'],
  ['vector', 'vector'],
  ['boost', 'boost'],
  ['hybrid', 'hybrid'],
] as const;
const choicesOf = (values: readonly string[]) =>
  ['', ...values].map((each) => [each, each || 'the server’s default'] as const);
const LANGUAGE_CHOICES = choicesOf(LANGUAGES);
const STRATEGIES = choicesOf(CHUNKING_STRATEGIES);

/** Stands for no embedder; no embedder key contains a space. */
const OWN = 'my own';

interface Form {
  readonly name: string;
  readonly embedder: string;
  /** For vectors of the user. */
  readonly dim: string;
  readonly strategy: string;
  readonly size: string;
  readonly mode: string;
  readonly language: string;
}

const EMPTY: Form = { name: '', embedder: '', dim: '', strategy: '', size: '', mode: '', language: '' };

export function CreateCollection({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const [form, setForm] = useState(EMPTY);
  const { isBusy, error, run } = useAction();
  const make = async () => {
    const collection = form.name.trim();
    await createCollection({ tenant, collection }, bodyOf(form));
    await loadCatalog(tenant);
    onClose();
    go({ tenant, collection, view: 'documents' });
  };
  return (
    <Dialog title="New collection" onClose={onClose}>
      <form onSubmit={(event) => (event.preventDefault(), run(make))}>
        <Fields tenant={tenant} form={form} onChange={(change) => setForm({ ...form, ...change })} />
        <ErrorNote error={error} />
        <footer>
          <button type="submit" class="main" disabled={isBusy || form.name.trim() === ''}>
            Create
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function Fields({ tenant, form, onChange }: { tenant: string; form: Form; onChange: (change: Partial<Form>) => void }) {
  const embedders = useEmbedderChoices(tenant, 'the default');
  return (
    <>
      <NameField value={form.name} onName={(name) => onChange({ name })} />
      <Choice
        label="Embedder"
        value={form.embedder}
        choices={[...embedders, [OWN, 'none: I provide my own vectors']]}
        onChoice={(embedder) => onChange({ embedder })}
      />
      {form.embedder === OWN ? (
        <Dimensions dim={form.dim} onChange={(dim) => onChange({ dim })} />
      ) : (
        <OfTexts form={form} onChange={onChange} />
      )}
    </>
  );
}

function Dimensions({ dim, onChange }: { dim: string; onChange: (dim: string) => void }) {
  return (
    <Field label="Dimensions" hint={`How many numbers a vector has: 1 to ${DIM_MAX}.`}>
      <input
        type="number"
        required
        min={1}
        max={DIM_MAX}
        value={dim}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Field>
  );
}

function OfTexts({ form, onChange }: { form: Form; onChange: (change: Partial<Form>) => void }) {
  return (
    <>
      <Choice
        label="Chunking"
        value={form.strategy}
        choices={STRATEGIES}
        onChoice={(strategy) => onChange({ strategy, ...(strategy === 'none' && { size: '' }) })}
      />
      {form.strategy !== 'none' && (
        <Field
          label="Characters per chunk"
          hint={`${CHUNK_SIZE_MIN} to ${CHUNK_SIZE_MAX}; empty: the server’s default.`}
        >
          <input
            type="number"
            min={CHUNK_SIZE_MIN}
            max={CHUNK_SIZE_MAX}
            value={form.size}
            onInput={({ currentTarget }) => onChange({ size: currentTarget.value })}
          />
        </Field>
      )}
      <Choice label="Default search mode" value={form.mode} choices={MODES} onChoice={(mode) => onChange({ mode })} />
      <Choice
        label="Language"
        value={form.language}
        choices={LANGUAGE_CHOICES}
        onChoice={(language) => onChange({ language })}
      />
    </>
  );
}

function bodyOf({ embedder, dim, strategy, size, mode, language }: Form): CreateBody {
  if (embedder === OWN) return { embedder_type: 'identity', embedder_config: { dim: Number(dim) } };
  return {
    ...(embedder && { embedder }),
    ...((strategy || size) && {
      chunking: {
        ...(strategy && { strategy: strategy as ChunkingStrategy }),
        ...(size && { size: Number(size) }),
      },
    }),
    ...(mode && { search_mode: mode }),
    ...(language && { language: language as CreateBody['language'] }),
  };
}
