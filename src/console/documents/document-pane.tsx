// A document: its metadata, and its chunks one after the other, each with the text it has. Opened at a chunk, it shows
// that one with its neighbours and marks the words that were searched for. A part of the documents view.
import type { ChunkSummary } from '../../contract/resources.js';
import { ErrorNote } from '../parts/error-note.tsx';
import { useInSight } from '../parts/in-sight.js';
import { useAction, useLoaded } from '../parts/loaded.js';
import { usePages } from '../parts/pages.js';
import { Term } from '../parts/term.tsx';
import { counted, moment } from '../parts/words.js';
import { deleteDocument, getDocument, listChunks, type At } from '../server/api.js';
import { fileNameBeside, ownFields } from '../plain/own-fields.js';
import { go, place, there } from '../state/place.js';
import { ChunkCard } from './chunk-card.tsx';
import { Neighbours } from './neighbours.tsx';

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
        <a class="button" href={there({ view: 'documents' })} aria-label="Close the document">
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
    go({ view: 'documents' });
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
