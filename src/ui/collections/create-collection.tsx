// Makes a collection: its name, and where wanted its embedder, chunking, default mode and language.
// A dialog of the list of collections.
import { useState } from 'preact/hooks';
import type { CreateBody } from '../../contract/api/collections.js';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { useAction, useLoaded } from '../parts/loaded.js';
import { createCollection, listEmbedders } from '../server/api.js';
import { go } from '../state/place.js';
import { loadCatalog } from './catalog.js';

const MODES = [['', 'as the server has it'], ['vector', 'vector'], ['boost', 'boost'], ['hybrid', 'hybrid']] as const;
const LANGUAGES = ['', 'english', 'german', 'french', 'spanish', 'italian', 'portuguese', 'dutch', 'swedish', 'russian', 'none'].map((each) => [each, each || 'as the server has it'] as const);

interface Form {
  readonly name: string;
  readonly embedder: string;
  readonly size: string;
  readonly mode: string;
  readonly language: string;
}

const EMPTY: Form = { name: '', embedder: '', size: '', mode: '', language: '' };

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
            Make it
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function Fields({ tenant, form, onChange }: { tenant: string; form: Form; onChange: (change: Partial<Form>) => void }) {
  const { value } = useLoaded(`embedders/${tenant}`, (signal) => listEmbedders(tenant, signal));
  const embedders = [['', 'the default'], ...(value?.embedders ?? []).map(({ key, vector_key: space }) => [key, `${key} (${space})`] as const)] as const;
  return (
    <>
      <Field label="Name" hint="Letters, digits, dots, dashes and underscores.">
        <input required autofocus spellcheck={false} autocomplete="off" pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,127}" value={form.name} onInput={({ currentTarget }) => onChange({ name: currentTarget.value })} />
      </Field>
      <Choice label="Embedder" value={form.embedder} choices={embedders} onChoice={(embedder) => onChange({ embedder })} />
      <Field label="Characters a chunk" hint="16 to 32768; empty: as the server has it.">
        <input type="number" min={16} max={32768} value={form.size} onInput={({ currentTarget }) => onChange({ size: currentTarget.value })} />
      </Field>
      <Choice label="Searches by" value={form.mode} choices={MODES} onChoice={(mode) => onChange({ mode })} />
      <Choice label="Language" value={form.language} choices={LANGUAGES} onChoice={(language) => onChange({ language })} />
    </>
  );
}

function bodyOf({ embedder, size, mode, language }: Form): CreateBody {
  return {
    ...(embedder && { embedder }),
    ...(size && { chunking: { strategy: 'fixed', size: Number(size) } }),
    ...(mode && { search_mode: mode }),
    ...(language && { language: language as CreateBody['language'] }),
  };
}
