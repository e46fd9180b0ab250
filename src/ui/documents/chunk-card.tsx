// A chunk with its text, in which the words of a query are marked.
// A part of a document.
import { SheafError } from '../../client/errors.js';
import { ErrorNote } from '../parts/error-note.tsx';
import { useLoaded } from '../parts/loaded.js';
import { Marked } from '../parts/marked.tsx';
import { wordsIn } from '../plain/marks.js';
import { chunkText, type At } from '../server/api.js';
import { chunkLink } from '../state/place.js';

interface Props {
  readonly at: At;
  readonly rid: string;
  readonly title: string;
  /** '' marks nothing. */
  readonly query: string;
  readonly isChosen?: boolean;
}

const isVector = (error: unknown): boolean => error instanceof SheafError && error.code === 'chunk_content_not_found';

export function ChunkCard({ at, rid, title, query, isChosen }: Props) {
  const { value, error } = useLoaded(`${at.tenant}/${at.collection}/${rid}`, (signal) => chunkText(at, rid, signal));
  return (
    <section
      class={`chunk${isChosen ? ' chosen' : ''}`}
      aria-label={`Chunk ${title}`}
      aria-current={isChosen ? 'true' : undefined}
    >
      <h3>
        <a data-entry href={chunkLink(rid, query)}>
          {title}
        </a>
      </h3>
      {error === undefined && (
        <p class="text">{value === undefined ? '…' : <Marked text={value} ranges={wordsIn(value, query)} />}</p>
      )}
      {isVector(error) ? <p class="faint">A vector without a text.</p> : <ErrorNote error={error} />}
    </section>
  );
}
