// The list of collections, with a filter field and a button to create one.
import { useEffect, useState } from 'preact/hooks';
import type { CollectionSummary } from '../../api/collections.js';
import { ErrorNote } from '../components.tsx';
import { count, counted, ownDim } from '../format.js';
import { useHappening } from '../events.js';
import { hrefOf } from '../address.js';
import { apiKey, place, returns } from '../state.js';
import { catalog, isListed, loadCatalog } from './catalog.js';
import { CreateCollection } from './create-collection.tsx';

/** Shorter lists have no filter field. */
const FIELD_FROM = 8;
/** A browser takes seconds for ten thousand entries. */
const SHOWN_MAX = 200;

export function CollectionNav({ tenant }: { tenant: string }) {
  const [word, setWord] = useState('');
  const [isMaking, setIsMaking] = useState(false);
  // Reloads whenever a collection is opened, which may have been created elsewhere.
  useEffect(() => void loadCatalog(tenant), [tenant, place.value.collection, apiKey.value, returns.value]);
  useHappening(
    ({ type }) =>
      (type === 'collection' || (type === 'ingest' && !isListed(place.value.collection))) && void loadCatalog(tenant),
  );
  const { collections, error } = catalog.value;
  const found =
    collections?.filter(({ name, display_name: label }) =>
      `${name} ${label ?? ''}`.toLowerCase().includes(word.toLowerCase()),
    ) ?? [];
  const shown = entriesOf(found, place.value.collection);
  return (
    <nav class="side" aria-label="Collections">
      <header>
        <h2>Collections</h2>
        <button type="button" data-new-collection title="New collection (n)" onClick={() => setIsMaking(true)}>
          New
        </button>
      </header>
      {(collections?.length ?? 0) >= FIELD_FROM && (
        <input
          type="search"
          placeholder="Find by name"
          aria-label="Find collections by name"
          value={word}
          onInput={({ currentTarget }) => setWord(currentTarget.value)}
        />
      )}
      <ErrorNote error={error} />
      {collections?.length === 0 && <p class="faint">No collections yet.</p>}
      <ul>
        {shown.map((each) => (
          <Entry key={each.name} tenant={tenant} collection={each} />
        ))}
      </ul>
      {found.length > shown.length && (
        <p class="faint">and {count(found.length - shown.length)} more: find them by name</p>
      )}
      {isMaking && <CreateCollection tenant={tenant} onClose={() => setIsMaking(false)} />}
    </nav>
  );
}

/** The first of the collections, and the open one whatever its place is. */
function entriesOf(found: readonly CollectionSummary[], open: string | undefined): readonly CollectionSummary[] {
  if (found.length <= SHOWN_MAX) return found;
  const first = found.slice(0, SHOWN_MAX);
  const opened = found.findIndex(({ name }) => name === open);
  return opened < SHOWN_MAX ? first : [found[opened] as CollectionSummary, ...first];
}

function Entry({
  tenant,
  collection: { name, display_name: label, embedder_label: embedder, vector_space_key: space, damaged },
}: {
  tenant: string;
  collection: CollectionSummary;
}) {
  const { collection: open, view } = place.value;
  const dim = ownDim(space);
  return (
    <li>
      <a
        href={hrefOf({ tenant, collection: name, view: open === undefined ? 'documents' : view, params: {} })}
        aria-current={open === name ? 'true' : undefined}
      >
        <span>{name}</span>
        <small>
          {label && label !== name ? `${label} · ` : ''}
          {damaged ? 'damaged' : dim === undefined ? embedder : `vectors of ${counted(dim, 'number')}`}
        </small>
      </a>
    </li>
  );
}
