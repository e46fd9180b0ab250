// Uploads: three files at a time, each with its progress. Uses XMLHttpRequest, because fetch reports no upload
// progress. The state belongs to the page, so an upload continues while other views are shown.
import { effect, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Ingested } from '../../api/documents.js';
import { SheafUnreachable, errorOf } from '../../client/errors.js';
import { type At, addressOf, keyHeaders, pathOf } from '../api.js';
import { ErrorNote } from '../components.tsx';
import { bytes, count, counted } from '../format.js';
import { useAction } from '../hooks.js';
import { apiKey, askForKey, judgeKey } from '../state.js';
import { keptOf } from '../updates.js';

// The files of a drop, including all files in dropped folders. Must be read within the event, after which the browser
// discards the dropped data.

/** Larger folders are for the command line. */
const FILES_MAX = 5000;

interface Dropped {
  readonly file: File;
  /** Path relative to the drop, such as `notes/2026/may.md`; for a single file its name. */
  readonly path: string;
}

interface Drop {
  readonly files: Dropped[];
  /** Paths that the browser cannot read. */
  readonly unread: string[];
}

/** `isCut` if there were more files than `FILES_MAX`. */
async function droppedFiles(transfer: DataTransfer): Promise<Drop & { isCut: boolean }> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length === 0)
    return { files: [...transfer.files].map((file) => ({ file, path: file.name })), unread: [], isCut: false };
  const drop: Drop = { files: [], unread: [] };
  for (const entry of entries) await gather(entry, drop);
  return { files: drop.files.slice(0, FILES_MAX), unread: drop.unread, isCut: drop.files.length > FILES_MAX };
}

/** Collects the files below an entry. An unreadable entry does not prevent the others from being taken. */
async function gather(entry: FileSystemEntry, drop: Drop): Promise<void> {
  if (drop.files.length > FILES_MAX || entry.name.startsWith('.')) return;
  const path = entry.fullPath.replace(/^\//, '');
  try {
    if (entry.isFile)
      drop.files.push({
        file: await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
        path,
      });
    else for (const below of await entriesOf(entry as FileSystemDirectoryEntry)) await gather(below, drop);
  } catch {
    drop.unread.push(path);
  }
}

/** Reads all entries of a folder. The reader returns a hundred at a time, and none at the end. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return found;
    found.push(...some);
  }
}

interface Upload extends Dropped {
  readonly id: number;
  readonly at: At;
  readonly state: 'waiting' | 'sending' | 'indexing' | 'done' | 'failed';
  /** Fraction sent, from 0 to 1. */
  readonly sent: number;
  readonly chunks?: number;
  readonly error?: unknown;
}

const AT_A_TIME = 3;
/** Number of finished uploads that stay in the list. */
const FINISHED_MAX = 500;

const uploads = signal<readonly Upload[]>([]);
let lastId = 0;

const isFinished = ({ state }: Upload): boolean => state === 'done' || state === 'failed';

/** Makes the browser ask before the page is left. */
const warn = (event: Event): void => event.preventDefault();
effect(() => (uploads.value.every(isFinished) ? removeEventListener : addEventListener)('beforeunload', warn));

function upload(at: At, files: readonly Dropped[]): void {
  const added = files.map((each): Upload => ({ ...each, id: ++lastId, at, state: 'waiting', sent: 0 }));
  uploads.value = [...keptOf(uploads.value, isFinished, FINISHED_MAX), ...added];
  next();
}

const forgetFinished = (): void => void (uploads.value = uploads.value.filter((each) => !isFinished(each)));

function change(id: number, by: Partial<Upload>): void {
  uploads.value = uploads.value.map((each) => (each.id === id ? { ...each, ...by } : each));
}

function next(): void {
  const underWay = uploads.value.filter(({ state }) => state === 'sending' || state === 'indexing').length;
  const waiting = uploads.value.filter(({ state }) => state === 'waiting').slice(0, AT_A_TIME - underWay);
  for (const each of waiting) {
    change(each.id, { state: 'sending' });
    send(each)
      .then(
        (chunks) => change(each.id, { state: 'done', sent: 1, chunks }),
        (error: unknown) => change(each.id, { state: 'failed', error }),
      )
      .finally(next);
  }
}

/** Uploads a file and resolves to its number of chunks. */
async function send({ id, at, file, path }: Upload): Promise<number> {
  const key = apiKey.value;
  const request = new XMLHttpRequest();
  request.open('POST', addressOf(pathOf(at, 'documents')));
  for (const [name, value] of Object.entries(keyHeaders(key))) request.setRequestHeader(name, value);
  request.upload.onprogress = ({ loaded, total }) => change(id, { sent: loaded / total });
  request.upload.onload = () => change(id, { state: 'indexing', sent: 1 });
  await new Promise<unknown>((resolve, reject) => {
    request.onload = resolve;
    request.onerror = () => reject(new SheafUnreachable(location.origin, 'the connection broke'));
    request.send(formOf(file, path));
  });
  const { status, statusText, responseText } = request;
  if (status === 201) return (JSON.parse(responseText) as Ingested).chunks;
  if (status === 401) {
    judgeKey(key, false);
    askForKey(key);
  }
  throw errorOf({ status, statusText, headers: { get: (name) => request.getResponseHeader(name) } }, responseText);
}

/**
 * The form of an upload. The document id is the file's name, or its path in a dropped folder, as with the command line:
 * an id that the server derives from a name omits most non-Latin letters and ignores folders.
 */
function formOf(file: File, path: string): FormData {
  const form = new FormData();
  form.set('docid', path);
  if (path !== file.name) form.set('metadata', JSON.stringify({ path }));
  form.set('file', file, file.name);
  return form;
}

// Progress of the uploads to a collection.

/** Files that have a line of their own; the others are counted. */
const LINES_MAX = 200;
/** States by their priority for a line. */
const ORDER: readonly Upload['state'][] = ['failed', 'sending', 'indexing', 'waiting', 'done'];

/** Calls `onDone` whenever an upload finishes. */
export function UploadList({ at, onDone }: { at: At; onDone: () => void }) {
  const mine = uploads.value.filter((each) => each.at.tenant === at.tenant && each.at.collection === at.collection);
  const finished = mine.filter(isFinished).length;
  useEffect(() => {
    if (finished > 0) onDone();
  }, [finished]);
  if (mine.length === 0) return null;
  const total = mine.reduce((sum, { file }) => sum + file.size, 0);
  const sent = mine.reduce((sum, each) => sum + each.file.size * (each.state === 'failed' ? 1 : each.sent), 0);
  const failed = mine.filter(({ state }) => state === 'failed').length;
  return (
    <section class="uploads" aria-label="Uploads">
      <header>
        <strong>
          {finished} of {counted(mine.length, 'file')}, {bytes(sent)} of {bytes(total)}
          {failed > 0 && `, ${count(failed)} failed`}
        </strong>
        {finished === mine.length && (
          <button type="button" onClick={forgetFinished}>
            Clear
          </button>
        )}
      </header>
      <progress max={total || 1} value={sent} aria-label="All uploads" />
      <ul>
        {linesOf(mine).map((each) => (
          <UploadLine key={each.id} upload={each} />
        ))}
      </ul>
      {mine.length > LINES_MAX && <p class="faint">and {counted(mine.length - LINES_MAX, 'file')} more</p>}
    </section>
  );
}

function linesOf(mine: readonly Upload[]): readonly Upload[] {
  if (mine.length <= LINES_MAX) return mine;
  return ORDER.flatMap((state) => mine.filter((each) => each.state === state)).slice(0, LINES_MAX);
}

function UploadLine({ upload: { file, path, state, sent, chunks, error } }: { upload: Upload }) {
  const words = {
    waiting: 'waiting',
    sending: `${Math.round(sent * 100)} %`,
    indexing: 'indexing …',
    done: counted(chunks ?? 0, 'chunk'),
    failed: 'failed',
  };
  return (
    <li class={state}>
      <span>{path}</span>
      <span class="faint">{bytes(file.size)}</span>
      <span>{words[state]}</span>
      {error !== undefined && <ErrorNote error={error} />}
    </li>
  );
}

// Takes files that are dropped or chosen.

/** Number of unreadable files that an error lists. */
const NAMED_MAX = 5;

export function DropZone({ at, children }: { at: At; children: ComponentChildren }) {
  const [isOver, setIsOver] = useState(false);
  const { error, run } = useAction();
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    const { dataTransfer } = event;
    if (dataTransfer) run(() => take(at, dataTransfer));
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(true);
  };
  return (
    <div class={`drop${isOver ? ' over' : ''}`} onDragOver={over} onDragLeave={() => setIsOver(false)} onDrop={drop}>
      <ErrorNote error={error} />
      {children}
      {isOver && <p class="veil">Drop files or folders to ingest them</p>}
    </div>
  );
}

async function take(at: At, transfer: DataTransfer): Promise<void> {
  const { files, unread, isCut } = await droppedFiles(transfer);
  upload(at, files);
  if (unread.length > 0)
    throw new Error(
      `The browser cannot read ${unread.slice(0, NAMED_MAX).join(', ')}${unread.length > NAMED_MAX ? ` and ${count(unread.length - NAMED_MAX)} more` : ''}; all other files are uploaded.`,
    );
  if (isCut)
    throw new Error(
      `Only ${count(FILES_MAX)} files of the folder are uploaded. For all of them: npx sheaf ingest FOLDER --collection ${at.collection} --tenant ${at.tenant}`,
    );
}

export function FileButton({ at }: { at: At }) {
  const chosen = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    upload(
      at,
      [...(currentTarget.files ?? [])].map((file) => ({ file, path: file.name })),
    );
    currentTarget.value = '';
  };
  return (
    <label class="button main">
      Upload files
      <input type="file" multiple class="unseen" onChange={chosen} />
    </label>
  );
}
