// A chunk with its text, in which the words of a query are marked.
// A part of a document.
import { ErrorNote } from '../parts/error-note.tsx';
import { useLoaded } from '../parts/loaded.js';
import { Marked } from '../parts/marked.tsx';
import { wordsIn } from '../plain/marks.js';
import { chunkText, type At } from '../server/api.js';
import { there } from '../state/place.js';

interface Props {
  readonly at: At;
  readonly rid: string;
  readonly title: string;
  /** '' marks nothing. */
  readonly query: string;
  readonly isChosen?: boolean;
}

export function ChunkCard({ at, rid, title, query, isChosen }: Props) {
  const { value, error } = useLoaded(`${at.tenant}/${at.collection}/${rid}`, (signal) => chunkText(at, rid, signal));
  const docid = rid.slice(0, rid.lastIndexOf('::'));
  return (
    <section class={`chunk${isChosen ? ' chosen' : ''}`} aria-label={`Chunk ${title}`} aria-current={isChosen ? 'true' : undefined}>
      <h3>
        <a data-entry href={there({ view: 'documents', params: { document: docid, chunk: rid, q: query } })}>{title}</a>
      </h3>
      {error === undefined ? <p class="text">{value === undefined ? '…' : <Marked text={value} ranges={wordsIn(value, query)} />}</p> : <ErrorNote error={error} />}
    </section>
  );
}
