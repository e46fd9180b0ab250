// A chunk between those before and after it in its document, and the way on in both directions.
// A part of a document, where the address names a chunk.
import { useEffect, useRef } from 'preact/hooks';
import type { At } from '../server/api.js';
import { chunkPathOf } from '../plain/chunk-ids.js';
import { chunkLink, place, there } from '../state/place.js';
import { ChunkCard } from './chunk-card.tsx';

/** On each side. */
const NEIGHBOURS = 2;

export function Neighbours({ at, ids, rid }: { at: At; ids: readonly string[]; rid: string }) {
  const here = ids.indexOf(rid);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => element.current?.querySelector('.chosen')?.scrollIntoView({ block: 'nearest' }), []);
  const { document: docid = '', q: query = '' } = place.value.params;
  if (here < 0) return <p class="note bad">The document has no chunk {rid} any more: it was replaced.</p>;
  return (
    <div class="chunks" ref={element}>
      <nav class="tools" aria-label="Chunks of the document">
        <Step words="← before" rid={ids[here - 1]} query={query} />
        <span>
          {here + 1} of {ids.length}
        </span>
        <Step words="after →" rid={ids[here + 1]} query={query} />
        <span class="grow" />
        <a href={there({ view: 'documents', params: { document: docid } })}>All chunks</a>
      </nav>
      {ids.slice(Math.max(0, here - NEIGHBOURS), here + NEIGHBOURS + 1).map((each) => (
        <ChunkCard key={each} at={at} rid={each} title={chunkPathOf(each)} query={query} isChosen={each === rid} />
      ))}
    </div>
  );
}

function Step({ words, rid, query }: { words: string; rid: string | undefined; query: string }) {
  if (rid === undefined)
    return (
      <span class="button" aria-disabled="true">
        {words}
      </span>
    );
  return (
    <a class="button" href={chunkLink(rid, query)}>
      {words}
    </a>
  );
}
