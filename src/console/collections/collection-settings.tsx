// Settings, counts and memory of a collection; rename and delete.
import { useState } from 'preact/hooks';
import type { CollectionDetail } from '../../api/collections.js';
import { ErrorNote, Field, Term } from '../components.tsx';
import { useAction, useLoaded } from '../hooks.js';
import { bytes, count, moment } from '../format.js';
import { collectionDetail, deleteCollection, moveCollection, renameCollection, type At } from '../api.js';
import { go, overviewOf } from '../state.js';
import { loadCatalog } from './catalog.js';

export function SettingsView(at: At) {
  const { value, error, reload } = useLoaded(`${at.tenant}/${at.collection}`, (signal) => collectionDetail(at, signal));
  return (
    <>
      <ErrorNote error={error} />
      {value && <Facts detail={value} />}
      {value && (
        <div class="columns">
          <Rename
            label="Label"
            words="Change the label"
            value={value.display_name ?? ''}
            work={async (name) => (await renameCollection(at, name), await loadCatalog(at.tenant), reload())}
          />
          <Rename label="Name" words="Rename" value={at.collection} work={(name) => move(at, name)} />
          <Delete at={at} />
        </div>
      )}
    </>
  );
}

async function move(at: At, name: string): Promise<void> {
  await moveCollection(at, name);
  await loadCatalog(at.tenant);
  go({ collection: name, view: 'settings' });
}

function Facts({ detail }: { detail: CollectionDetail }) {
  const { memory } = detail;
  const facts: (readonly [string, string | undefined])[] = [
    ['documents', count(detail.doc_count)],
    ['chunks', count(detail.chunk_count)],
    ['embedder', detail.vector_space_key],
    ['search mode', detail.search_mode],
    ['language', detail.language],
    ['precision', detail.precision],
    [
      'chunking',
      detail.chunking &&
        (detail.chunking.strategy === 'none'
          ? 'none'
          : `${detail.chunking.strategy}, ${detail.chunking.size} characters, ${detail.chunking.overlap} shared`),
    ],
    ['priority', detail.priority_key],
    ['created', detail.created_at && moment(detail.created_at)],
    [
      'memory',
      memory &&
        `${bytes(memory.vectors)} vectors, ${bytes(memory.quantized_vectors)} quantized vectors, ${bytes(memory.graph)} graph, ${bytes(memory.postings)} text index`,
    ],
  ];
  return (
    <dl class="figures">
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <Term name={name} isWide={name === 'embedder' || name === 'memory'}>
              {value}
            </Term>
          ),
      )}
    </dl>
  );
}

interface RenameProps {
  readonly label: string;
  readonly words: string;
  readonly value: string;
  readonly work: (name: string) => Promise<void>;
}

function Rename({ label, words, value, work }: RenameProps) {
  const [name, setName] = useState(value);
  const { isBusy, error, run } = useAction();
  return (
    <form class="card" onSubmit={(event) => (event.preventDefault(), run(() => work(name.trim())))}>
      <Field label={label}>
        <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </Field>
      <ErrorNote error={error} />
      <button type="submit" disabled={isBusy || name.trim() === value}>
        {words}
      </button>
    </form>
  );
}

/** Deletes the collection after its name has been typed, because it cannot be restored. */
function Delete({ at }: { at: At }) {
  const [typed, setTyped] = useState('');
  const { isBusy, error, run } = useAction();
  const remove = async () => {
    await deleteCollection(at);
    await loadCatalog(at.tenant);
    location.hash = overviewOf(at.tenant);
  };
  return (
    <form class="card" onSubmit={(event) => (event.preventDefault(), run(remove))}>
      <Field label={`Type “${at.collection}” to delete it with all its documents`}>
        <input
          value={typed}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </Field>
      <ErrorNote error={error} />
      <button type="submit" class="danger" disabled={isBusy || typed !== at.collection}>
        Delete the collection
      </button>
    </form>
  );
}
