// The list of collections, with a filter field and a button to create one.
import { useEffect, useState } from 'preact/hooks';
import type { CollectionSummary } from '../../api/collections.js';
import { ErrorNote } from '../components.tsx';
import { counted, ownDim } from '../format.js';
import { useHappening } from '../events.js';
import { hrefOf } from '../address.js';
import { apiKey, place, returns } from '../state.js';
import { catalog, isListed, loadCatalog } from './catalog.js';
import { CreateCollection } from './create-collection.tsx';

/** Shorter lists have no filter field. */
const FIELD_FROM = 8;

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
  const shown = collections?.filter(({ name, display_name: label }) =>
    `${name} ${label ?? ''}`.toLowerCase().includes(word.toLowerCase()),
  );
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
        {shown?.map((each) => (
          <Entry key={each.name} tenant={tenant} collection={each} />
        ))}
      </ul>
      {isMaking && <CreateCollection tenant={tenant} onClose={() => setIsMaking(false)} />}
    </nav>
  );
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
