// A document: its metadata and its chunks with their texts. If the address names a chunk, the pane shows that chunk
// with its neighbours and marks the query words.
import { useEffect, useRef } from 'preact/hooks';
import type { ChunkSummary } from '../../api/documents.js';
import { SheafError } from '../../client/errors.js';
import { chunkPathOf } from '../address.js';
import { type At, chunkText, deleteDocument, getDocument, listChunks } from '../api.js';
import { ErrorNote, Marked, Term } from '../components.tsx';
import { counted, fileNameBeside, moment, ownFields, wordsIn } from '../format.js';
import { useAction, useInSight, useLoaded, usePages } from '../hooks.js';
import { chunkLink, inList, place, there } from '../state.js';

// A chunk with its text, in which query words are marked.

interface Props {
  readonly at: At;
  readonly rid: string;
  readonly title: string;
  /** '' marks nothing. */
  readonly query: string;
  readonly isChosen?: boolean;
}

const isVector = (error: unknown): boolean => error instanceof SheafError && error.code === 'chunk_content_not_found';

function ChunkCard({ at, rid, title, query, isChosen }: Props) {
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

// A chunk with its neighbours in the document, and links in both directions.

/** Number of neighbours on each side. */
const NEIGHBOURS = 2;
/** Events by which a user scrolls. */
const MOVES = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;

function Neighbours({ at, ids, rid }: { at: At; ids: readonly string[]; rid: string }) {
  const here = ids.indexOf(rid);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => keptInSight(element.current as HTMLElement), []);
  const { document: docid = '', q: query = '' } = place.value.params;
  if (here < 0) return <p class="note bad">The document no longer has a chunk {rid}: it was replaced.</p>;
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

/**
 * Keeps the chosen chunk in view while chunk texts load above it, until the user scrolls or the returned function is
 * called.
 */
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

const PAGE_CHUNKS = 30;

export function DocumentPane({ at, docid, onDeleted }: { at: At; docid: string; onDeleted: () => void }) {
  const { value, error } = useLoaded(`${at.tenant}/${at.collection}/${docid}`, (signal) =>
    getDocument(at, docid, signal),
  );
  const { chunk } = place.value.params;
  const pane = useInSight();
  return (
    <article ref={pane} class="pane" aria-label={`Document ${docid}`}>
      <header>
        <h2>{docid}</h2>
        <DeleteButton at={at} docid={docid} onDeleted={onDeleted} />
        <a class="button" href={inList()} aria-label="Close the document">
          ✕
        </a>
      </header>
      <ErrorNote error={error} />
      {value && (
        <>
          <p class="faint">
            {fileNameBeside(docid, value.filename) && `${value.filename} · `}version {value.version} ·{' '}
            {counted(value.chunk_count, 'chunk')} · {moment(value.ingested_at)}
          </p>
          <MetaTable meta={value.metadata} />
          {chunk === undefined ? (
            <Chunks at={at} docid={docid} />
          ) : (
            <Neighbours key={chunk} at={at} ids={value.chunk_ids} rid={chunk} />
          )}
        </>
      )}
    </article>
  );
}

function DeleteButton({ at, docid, onDeleted }: { at: At; docid: string; onDeleted: () => void }) {
  const { isBusy, error, run } = useAction();
  const remove = async () => {
    if (!confirm(`Delete the document ${docid} with all its chunks?`)) return;
    await deleteDocument(at, docid);
    location.hash = inList();
    onDeleted();
  };
  return (
    <>
      <button type="button" class="danger" disabled={isBusy} onClick={() => run(remove)}>
        Delete
      </button>
      <ErrorNote error={error} />
    </>
  );
}

function MetaTable({ meta }: { meta: Record<string, unknown> }) {
  const entries = ownFields(meta);
  if (entries.length === 0) return null;
  return (
    <dl class="meta">
      {entries.map(([name, value]) => (
        <Term name={name}>{typeof value === 'string' ? value : JSON.stringify(value)}</Term>
      ))}
    </dl>
  );
}

function Chunks({ at, docid }: { at: At; docid: string }) {
  const pages = usePages<ChunkSummary>(`${at.tenant}/${at.collection}/${docid}`, async (cursor, signal) => {
    const { chunks, next_cursor: next } = await listChunks(at, docid, PAGE_CHUNKS, cursor, signal);
    return { entries: chunks, next };
  });
  return (
    <div class="chunks">
      <ErrorNote error={pages.error} />
      {pages.entries.map(({ rid, chunk_path: path }) => (
        <ChunkCard key={rid} at={at} rid={rid} title={path} query="" />
      ))}
      {!pages.isWhole && (
        <button type="button" disabled={pages.isLoading} onClick={pages.more}>
          More chunks
        </button>
      )}
    </div>
  );
}
