// The documents of a collection: a virtual list, uploads, and the chosen document beside it. Files can be dropped
// anywhere on the view. It reloads when documents are added or deleted.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { IngestBody } from '../../api/documents.js';
import { changedNumber } from '../../base/json.js';
import { type At, collectionDetail, deleteDocuments, ingest } from '../api.js';
import { dimOfOwn, isListed, loadCatalog } from '../collections/catalog.js';
import { Dialog, ErrorNote, Field } from '../components.tsx';
import { useHappening } from '../events.js';
import { count, counted, fileNameBeside, moment, vectorOf } from '../format.js';
import { type Pages, useAction, useLoaded } from '../hooks.js';
import { go, inList, place } from '../state.js';
import { SureButton } from '../sure-button.tsx';
import { Rows } from '../virtual-table.tsx';
import { DocumentPane } from './document-pane.tsx';
import { ListTools, type Listed, type Wish, cellOf, isPlain, useFields, useListing, wishOf } from './listing.tsx';
import { DropZone, FileButton, UploadList } from './uploads.tsx';

// Dialog that adds a text as a document, with optional metadata, or a vector in a collection of the user's vectors.

interface Props {
  readonly at: At;
  /** Dimensions of a vector; undefined for a collection of texts. */
  readonly dim: number | undefined;
  readonly onClose: () => void;
  readonly onAdded: (docid: string) => void;
}

interface Form {
  /** A text, or the numbers of a vector as JSON. */
  readonly content: string;
  readonly docid: string;
  /** JSON. */
  readonly metadata: string;
}

function AddDocument({ at, dim, onClose, onAdded }: Props) {
  const [form, setForm] = useState<Form>({ content: '', docid: '', metadata: '' });
  const { isBusy, error, run } = useAction();
  const add = async () => {
    const { content, docid, metadata } = form;
    const what = dim === undefined ? { text: content } : { vector: parseVector(content, dim) };
    onAdded(
      (
        await ingest(at, {
          ...what,
          ...(docid && { docid }),
          ...(metadata.trim() && { metadata: parseObject(metadata) }),
        })
      ).docid,
    );
  };
  return (
    <Dialog title={wordsOf(dim)} onClose={onClose} isWide>
      <form onSubmit={(event) => (event.preventDefault(), run(add))}>
        <Fields form={form} dim={dim} onChange={(change) => setForm({ ...form, ...change })} />
        <ErrorNote error={error} />
        <footer>
          <button type="submit" class="main" disabled={isBusy || form.content.trim() === ''}>
            Add
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

const wordsOf = (dim: number | undefined): string => (dim === undefined ? 'Add a text' : 'Add a vector');

function Fields({
  form: { content, docid, metadata },
  dim,
  onChange,
}: {
  form: Form;
  dim: number | undefined;
  onChange: (change: Partial<Form>) => void;
}) {
  return (
    <>
      <Field
        label={dim === undefined ? 'Text' : 'Vector'}
        {...(dim !== undefined && { hint: `A JSON list of ${counted(dim, 'number')}, such as [0.1, 0.2, …].` })}
      >
        <textarea
          rows={10}
          required
          autofocus
          spellcheck={dim === undefined}
          value={content}
          onInput={({ currentTarget }) => onChange({ content: currentTarget.value })}
        />
      </Field>
      <Field label="Document id" hint="Empty: the server generates one. An existing document with this id is replaced.">
        <input
          value={docid}
          spellcheck={false}
          onInput={({ currentTarget }) => onChange({ docid: currentTarget.value })}
        />
      </Field>
      <Field label="Metadata" hint={'A JSON object, such as {"year": 1870}; empty: none.'}>
        <input
          value={metadata}
          spellcheck={false}
          onInput={({ currentTarget }) => onChange({ metadata: currentTarget.value })}
        />
      </Field>
    </>
  );
}

function parseVector(text: string, dim: number): NonNullable<IngestBody['vector']> {
  const vector = vectorOf(text);
  if (vector?.length === dim) return vector;
  throw new Error(
    vector
      ? `The vector has ${counted(vector.length, 'number')}; vectors of this collection have ${dim}.`
      : 'The vector is not a JSON list of numbers, such as [0.1, 0.2].',
  );
}

function parseObject(text: string): Record<string, unknown> {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('The metadata is not a JSON object, such as {"year": 1870}.');
  const number = changedNumber(text);
  if (number === undefined) return value as Record<string, unknown>;
  throw new Error(`${number} has more digits than a number can keep: write it as a string.`);
}

/** Undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const ROW_PX = 36;
/** Documents that arrive in quick succession cause one reload. */
const RELOAD_MS = 800;

export function DocumentsView(at: At) {
  const { tenant, collection } = at;
  const wish = wishOf(place.value.params);
  const pages = useListing(at, wish);
  const fields = useFields(pages.entries, wish);
  const reloadSoon = useSoon(() => {
    pages.reload();
    // The first document has created the collection.
    if (!isListed(collection)) void loadCatalog(tenant);
  });
  useHappening(({ type }) => (type === 'ingest' || type === 'delete' || type === 'reset') && reloadSoon());
  const { document: docid } = place.value.params;
  return (
    <DropZone at={at}>
      <Toolbar at={at} onAdded={reloadSoon} />
      <UploadList at={at} onDone={reloadSoon} />
      {(pages.entries.length > 0 || !isPlain(wish)) && <ListTools wish={wish} fields={fields} />}
      <ErrorNote error={pages.error} />
      <div class={docid === undefined ? 'panes' : 'panes two'}>
        <DocumentList at={at} pages={pages} wish={wish} />
        {docid !== undefined && <DocumentPane key={docid} at={at} docid={docid} onDeleted={pages.reload} />}
      </div>
    </DropZone>
  );
}

/** Runs `work` once after a delay, however often it is requested meanwhile. */
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

function DocumentList({
  at,
  pages: { entries, isLoading, isWhole, more, reload },
  wish,
}: {
  at: At;
  pages: Pages<Listed>;
  wish: Wish;
}) {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const chosen = place.value.params.document;
  const kind = isPlain(wish) ? 'plain' : 'searched';
  const listed = entries.filter(({ docid }) => ticked.has(docid)).map(({ docid }) => docid);
  if (entries.length === 0 && isLoading) return <p class="faint">Loading …</p>;
  if (entries.length === 0) return isPlain(wish) ? <Nothing /> : <p class="empty">No document fits the filter.</p>;
  const tick = (docid: string, isOn: boolean) =>
    setTicked(isOn ? new Set([...ticked, docid]) : new Set([...ticked].filter((each) => each !== docid)));
  return (
    <section>
      {listed.length > 0 ? (
        <TickedBar at={at} docids={listed} onClear={() => setTicked(new Set())} onDeleted={reload} />
      ) : (
        <HowMany at={at} entries={entries} isWhole={isWhole || !isPlain(wish)} />
      )}
      <Rows
        label="Documents"
        columns={[...COLUMNS[kind], ...wish.columns]}
        widths={[WIDTHS[kind], ...wish.columns.map(() => METADATA_WIDTH)].join(' ')}
        entries={entries}
        rowHeight={ROW_PX}
        isChosen={({ docid }) => docid === chosen}
        onEnd={more}
        cellsOf={(document) => [
          ...cellsOf(document, ticked.has(document.docid), tick),
          ...wish.columns.map((field) => cellOf(document, field)),
        ]}
      />
    </section>
  );
}

const COLUMNS = { plain: ['Document', 'Chunks', 'Version', 'Ingested'], searched: ['Document', 'Ingested'] };
const WIDTHS = { plain: 'minmax(0, 1fr) 4.5rem 5rem 13rem', searched: 'minmax(0, 1fr) 13rem' };
const METADATA_WIDTH = 'minmax(0, 10rem)';

/** The number of documents that are listed and, if these are not all, of those of the collection. */
function HowMany({ at, entries, isWhole }: { at: At; entries: readonly Listed[]; isWhole: boolean }) {
  const { value, isLoading, reload } = useLoaded(`${at.tenant}/${at.collection}`, async (signal) =>
    isWhole ? undefined : collectionDetail(at, signal),
  );
  // The list has come anew, or a page of it.
  useEffect(() => {
    if (!isLoading) reload();
  }, [entries]);
  const all = isWhole ? undefined : value?.doc_count;
  return (
    <p class="faint">
      {all === undefined
        ? counted(entries.length, 'document')
        : `${count(entries.length)} of ${counted(all, 'document')}`}
      {!isWhole && ', more below'}
    </p>
  );
}

function TickedBar({
  at,
  docids,
  onClear,
  onDeleted,
}: {
  at: At;
  docids: readonly string[];
  onClear: () => void;
  onDeleted: () => void;
}) {
  const drop = async () => {
    await deleteDocuments(at, docids);
    onClear();
    onDeleted();
  };
  return (
    <div class="tools" role="group" aria-label="Ticked documents">
      <span>{counted(docids.length, 'document')} ticked</span>
      <SureButton first="Delete …" second={`Delete ${counted(docids.length, 'document')} for good`} work={drop} />
      <button type="button" class="plain" onClick={onClear}>
        Untick all
      </button>
    </div>
  );
}

function cellsOf(
  { docid, filename, chunk_count: chunks, version, ingested_at: at }: Listed,
  isTicked: boolean,
  onTick: (docid: string, isOn: boolean) => void,
) {
  return [
    <>
      <input
        type="checkbox"
        checked={isTicked}
        aria-label={`Tick ${docid}`}
        onChange={({ currentTarget }) => onTick(docid, currentTarget.checked)}
      />
      <a data-entry href={inList(docid)}>
        {docid} <span class="faint">{fileNameBeside(docid, filename)}</span>
      </a>
    </>,
    ...(chunks === undefined ? [] : [count(chunks), version]),
    at === undefined ? '' : moment(at),
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
      <p>Each document here is a vector of {counted(dim, 'number')} that you provide, with optional metadata.</p>
      <p class="faint">
        Many at a time:{' '}
        <code>
          POST /v1/collections/{tenant}/{collection}/documents:batch
        </code>
      </p>
    </div>
  );
}
