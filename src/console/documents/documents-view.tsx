// The documents of a collection: a list of any length, uploads, and the document that is chosen beside it.
// A view; it takes files that are dropped anywhere on it, and is loaded again when documents come or go.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DocumentSummary } from '../../contract/resources.js';
import { dimOfOwn, isListed, loadCatalog } from '../collections/catalog.js';
import { ErrorNote } from '../parts/error-note.tsx';
import { usePages, type Pages } from '../parts/pages.js';
import { Rows } from '../parts/rows.tsx';
import { count, counted, moment } from '../parts/words.js';
import { fileNameBeside } from '../plain/own-fields.js';
import { listDocuments, type At } from '../server/api.js';
import { useHappening } from '../state/follow.js';
import { go, place, there } from '../state/place.js';
import { AddDocument, wordsOf } from './add-document.tsx';
import { DocumentPane } from './document-pane.tsx';
import { DropZone, FileButton } from './drop-zone.tsx';
import { UploadList } from './upload-list.tsx';

const PAGE_DOCUMENTS = 500;
/** What the server gives at a time at most. */
const PAGE_DOCUMENTS_MAX = 10_000;
const ROW_PX = 36;
/** Documents that come in quick succession are shown together. */
const RELOAD_MS = 800;

export function DocumentsView(at: At) {
  const { tenant, collection } = at;
  const pages = useDocuments(at);
  const reloadSoon = useSoon(() => {
    pages.reload();
    // The first document has made the collection.
    if (!isListed(collection)) void loadCatalog(tenant);
  });
  useHappening(({ type }) => (type === 'ingest' || type === 'delete' || type === 'reset') && reloadSoon());
  const { document: docid } = place.value.params;
  return (
    <DropZone at={at}>
      <Toolbar at={at} onAdded={reloadSoon} />
      <UploadList at={at} onDone={reloadSoon} />
      <ErrorNote error={pages.error} />
      <div class={docid === undefined ? 'panes' : 'panes two'}>
        <DocumentList pages={pages} />
        {docid !== undefined && <DocumentPane key={docid} at={at} docid={docid} onDeleted={pages.reload} />}
      </div>
    </DropZone>
  );
}

function useDocuments(at: At): Pages<DocumentSummary> {
  return usePages(`${at.tenant}/${at.collection}`, async (cursor, signal, lengthBefore) => {
    const limit = Math.min(PAGE_DOCUMENTS_MAX, Math.max(PAGE_DOCUMENTS, lengthBefore));
    const { documents, next_cursor: next } = await listDocuments(at, limit, cursor, signal);
    return { entries: documents, next };
  });
}

/** Once for all that is asked for in the time. */
function useSoon(work: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      work();
    }, RELOAD_MS);
  };
}

function Toolbar({ at, onAdded }: { at: At; onAdded: () => void }) {
  const [isAdding, setIsAdding] = useState(false);
  const dim = dimOfOwn(at.collection);
  const openById = (event: SubmitEvent) => {
    event.preventDefault();
    const docid = new FormData(event.currentTarget as HTMLFormElement).get('docid');
    if (typeof docid === 'string' && docid) go({ view: 'documents', params: { document: docid } });
  };
  return (
    <div class="tools">
      {dim === undefined && <FileButton at={at} />}
      <button type="button" onClick={() => setIsAdding(true)}>
        {wordsOf(dim)}
      </button>
      {dim === undefined && <span class="faint">or drop files anywhere here</span>}
      <span class="grow" />
      <form onSubmit={openById}>
        <input name="docid" placeholder="Open by document id" aria-label="Open by document id" spellcheck={false} />
      </form>
      {isAdding && (
        <AddDocument
          at={at}
          dim={dim}
          onClose={() => setIsAdding(false)}
          onAdded={(docid) => (setIsAdding(false), onAdded(), go({ params: { document: docid } }))}
        />
      )}
    </div>
  );
}

function DocumentList({ pages: { entries, isLoading, isWhole, more } }: { pages: Pages<DocumentSummary> }) {
  const chosen = place.value.params.document;
  if (entries.length === 0) return isLoading ? <p class="faint">Loading …</p> : <Nothing />;
  return (
    <section>
      <p class="faint">
        {counted(entries.length, 'document')}
        {!isWhole && ', more below'}
      </p>
      <Rows
        label="Documents"
        columns={['Document', 'Chunks', 'Version', 'Ingested']}
        entries={entries}
        rowHeight={ROW_PX}
        isChosen={({ docid }) => docid === chosen}
        onEnd={more}
        cellsOf={cellsOf}
      />
    </section>
  );
}

function cellsOf({ docid, filename, chunk_count: chunks, version, ingested_at: at }: DocumentSummary) {
  return [
    <a data-entry href={there({ view: 'documents', params: { document: docid } })}>
      {docid} <span class="faint">{fileNameBeside(docid, filename)}</span>
    </a>,
    count(chunks),
    version,
    moment(at),
  ];
}

function Nothing() {
  const dim = dimOfOwn(place.value.collection);
  if (dim !== undefined) return <NoVectors dim={dim} />;
  return (
    <div class="empty">
      <h2>No documents yet</h2>
      <p>
        Drop files here: text, Markdown, HTML, PDF, Office, CSV, e-books, mail. Each is cut into chunks, embedded and
        searchable when it is listed.
      </p>
      <p class="faint">
        From the command line: <code>npx sheaf ingest ~/notes --collection {place.value.collection}</code>
      </p>
    </div>
  );
}

function NoVectors({ dim }: { dim: number }) {
  const { tenant, collection } = place.value;
  return (
    <div class="empty">
      <h2>No vectors yet</h2>
      <p>Each document here is a vector of {counted(dim, 'number')} that you bring, with metadata where you like.</p>
      <p class="faint">
        Many at a time:{' '}
        <code>
          POST /v1/collections/{tenant}/{collection}/documents:batch
        </code>
      </p>
    </div>
  );
}
