// Files on their way to the server, three at a time, each with its progress. Over XMLHttpRequest: fetch does not tell
// how much is sent. State of the page, so that an upload goes on while other views are shown; listed by
// upload-list.tsx.
import { effect, signal } from '@preact/signals';
import { errorOf } from '../../client/error-answer.js';
import { SheafUnreachable } from '../../client/errors.js';
import type { Ingested } from '../../contract/api/documents.js';
import { keptOf } from '../plain/kept.js';
import { pathOf, type At } from '../server/api.js';
import { addressOf, keyHeaders } from '../server/call.js';
import { apiKey, askForKey, judgeKey } from '../state/session.js';
import type { Dropped } from './dropped-files.js';

export interface Upload extends Dropped {
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

export const uploads = signal<readonly Upload[]>([]);
let lastId = 0;

export const isFinished = ({ state }: Upload): boolean => state === 'done' || state === 'failed';

/** The browser asks before the page is left. */
const warn = (event: Event): void => event.preventDefault();
effect(() => (uploads.value.every(isFinished) ? removeEventListener : addEventListener)('beforeunload', warn));

export function upload(at: At, files: readonly Dropped[]): void {
  const added = files.map((each): Upload => ({ ...each, id: ++lastId, at, state: 'waiting', sent: 0 }));
  uploads.value = [...keptOf(uploads.value, isFinished, FINISHED_MAX), ...added];
  next();
}

export const forgetFinished = (): void => void (uploads.value = uploads.value.filter((each) => !isFinished(each)));

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
