// The embedding map: a sample of the collection's vectors on the plane on which they differ most. Hits of a query can
// be shown on it. A view.
import { useMemo, useState } from 'preact/hooks';
import { ErrorNote } from '../parts/error-note.tsx';
import { useLoaded } from '../parts/loaded.js';
import { counted } from '../parts/words.js';
import { principalPlane } from '../plain/principal-axes.js';
import { sampleVectors, search, type At } from '../server/api.js';
import { vectorsOf } from './decode.js';
import { PointMap } from './point-map.tsx';

const SAMPLE = 500;
/** Hits that are looked for in the sample. */
const HITS_K = 20;

export function MapView(at: At) {
  const [query, setQuery] = useState('');
  const { value, error, isLoading } = useLoaded(`${at.tenant}/${at.collection}`, (signal) =>
    sampleVectors(at, SAMPLE, signal),
  );
  const hits = useLoaded(`${at.tenant}/${at.collection}/${query}`, async (signal) =>
    query ? (await search(at, { q: query, k: HITS_K }, signal)).matches.map(({ id }) => id) : [],
  );
  const marked = useMemo(() => new Set(hits.value ?? []), [hits.value]);
  const plane = useMemo(() => value && principalPlane(vectorsOf(value), value.dim), [value]);
  const ids = value?.vectors.map(({ rid }) => rid) ?? [];
  return (
    <>
      <QueryLine onQuery={setQuery} />
      <ErrorNote error={error ?? hits.error} />
      {isLoading && <p class="faint">Loading …</p>}
      {value?.count === 0 && <p class="empty">There are no vectors to show yet: ingest some documents first.</p>}
      {plane && ids.length > 0 && (
        <>
          <p class="faint">
            {counted(ids.length, 'chunk')}, spread evenly over the collection. The axes show{' '}
            {Math.round((plane.shares[0] + plane.shares[1]) * 100)} % of how they differ; chunks of one document have
            one colour.
          </p>
          <PointMap points={plane.points} ids={ids} marked={marked} query={query} />
        </>
      )}
    </>
  );
}

function QueryLine({ onQuery }: { onQuery: (query: string) => void }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onQuery(String(new FormData(event.currentTarget as HTMLFormElement).get('q') ?? '').trim());
  };
  return (
    <form class="tools" role="search" onSubmit={submit}>
      <input
        type="search"
        name="q"
        class="query"
        data-query
        placeholder="Show the hits of a query on the map"
        aria-label="Query to show on the map"
      />
      <button type="submit">Show</button>
    </form>
  );
}
