// Files on their way to the server, three at a time, each with its progress. Over XMLHttpRequest: fetch does not tell
// how much is sent. State of the page, so that an upload goes on while other views are shown.
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

// The files of what was dropped: of folders all that are below them. They have to be asked for at once in the event:
// afterwards the browser has forgotten what was dropped.

/** Beyond that a folder is for the command line. */
const FILES_MAX = 5000;

interface Dropped {
  readonly file: File;
  /** Below the place from which it was dropped: `notes/2026/may.md`; of a file that was dropped by itself its name. */
  readonly path: string;
}

interface Drop {
  readonly files: Dropped[];
  /** Paths that the browser may not read. */
  readonly unread: string[];
}

/** `isCut` where there were more than are taken. */
async function droppedFiles(transfer: DataTransfer): Promise<Drop & { isCut: boolean }> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length === 0)
    return { files: [...transfer.files].map((file) => ({ file, path: file.name })), unread: [], isCut: false };
  const drop: Drop = { files: [], unread: [] };
  for (const entry of entries) await gather(entry, drop);
  return { files: drop.files.slice(0, FILES_MAX), unread: drop.unread, isCut: drop.files.length > FILES_MAX };
}

/** A file or folder that cannot be read does not keep the others from being taken. */
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

/** The reader gives them a hundred at a time, and none at the end. */
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
  /** From 0 to 1. */
  readonly sent: number;
  readonly chunks?: number;
  readonly error?: unknown;
}

const AT_A_TIME = 3;
/** Of finished ones the latest are kept in the list. */
const FINISHED_MAX = 500;

const uploads = signal<readonly Upload[]>([]);
let lastId = 0;

const isFinished = ({ state }: Upload): boolean => state === 'done' || state === 'failed';

/** The browser asks before the page is left. */
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

/** The number of its chunks. */
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
 * A file is known by its name, and one of a folder by its path, as from the command line: an id that the server makes
 * of a name leaves out most letters of the world, and does not know folders.
 */
function formOf(file: File, path: string): FormData {
  const form = new FormData();
  form.set('docid', path);
  if (path !== file.name) form.set('metadata', JSON.stringify({ path }));
  form.set('file', file, file.name);
  return form;
}

// How far the uploads to a collection have come.
// A part of the documents view.

/** Of so many files each has a line; the others are counted. */
const LINES_MAX = 200;
/** What is most worth a line first. */
const ORDER: readonly Upload['state'][] = ['failed', 'sending', 'indexing', 'waiting', 'done'];

/** Calls `onDone` whenever one of them is finished. */
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
// A part of the documents view: all of the view takes what is dropped.

/** Files that are named where they cannot be read. */
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
      `The browser may not read ${unread.slice(0, NAMED_MAX).join(', ')}${unread.length > NAMED_MAX ? ` and ${count(unread.length - NAMED_MAX)} more` : ''}; all else is taken.`,
    );
  if (isCut)
    throw new Error(
      `Of the folder ${count(FILES_MAX)} files are taken. All of it: npx sheaf ingest FOLDER --collection ${at.collection} --tenant ${at.tenant}`,
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
