// A chunk between those before and after it in its document, and the way on in both directions.
// A part of a document, where the address names a chunk.
import { useEffect, useRef } from 'preact/hooks';
import type { At } from '../server/api.js';
import { chunkPathOf } from '../plain/chunk-ids.js';
import { chunkLink, place, there } from '../state/place.js';
import { ChunkCard } from './chunk-card.tsx';

/** On each side. */
const NEIGHBOURS = 2;
/** What a user scrolls with. */
const MOVES = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;

export function Neighbours({ at, ids, rid }: { at: At; ids: readonly string[]; rid: string }) {
  const here = ids.indexOf(rid);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => keptInSight(element.current as HTMLElement), []);
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

/** The texts of the chunks come one by one, and move it, until the user does. Ends with what it returns. */
function keptInSight(chunks: HTMLElement): () => void {
  const watch = new ResizeObserver(() => chunks.querySelector('.chosen')?.scrollIntoView({ block: 'nearest' }));
  watch.observe(chunks);
  const end = (): void => {
    watch.disconnect();
    for (const move of MOVES) removeEventListener(move, end);
  };
  for (const move of MOVES) addEventListener(move, end, { passive: true });
  return end;
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
