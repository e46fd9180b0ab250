// Files on their way to the server, three at a time, each with its progress. Over XMLHttpRequest: fetch does not tell how much is sent.
// State of the page, so that an upload goes on while other views are shown; listed by drop-zone.tsx.
import { signal } from '@preact/signals';
import { SheafError, SheafUnreachable } from '../../client/errors.js';
import type { ErrorEnvelope } from '../../contract/api/common.js';
import { addressOf, keyHeaders } from '../server/call.js';
import { pathOf, type At } from '../server/api.js';

export interface Upload {
  readonly id: number;
  readonly at: At;
  readonly file: File;
  readonly state: 'waiting' | 'sending' | 'indexing' | 'done' | 'failed';
  /** From 0 to 1. */
  readonly sent: number;
  readonly chunks?: number;
  readonly error?: unknown;
}

const AT_A_TIME = 3;
/** Of finished ones the latest are kept in the list. */
const LISTED_MAX = 500;

export const uploads = signal<readonly Upload[]>([]);
let lastId = 0;

export function upload(at: At, files: readonly File[]): void {
  const added = files.map((file): Upload => ({ id: ++lastId, at, file, state: 'waiting', sent: 0 }));
  uploads.value = [...uploads.value, ...added].slice(-Math.max(LISTED_MAX, added.length));
  next();
}

export const forgetFinished = (): void => void (uploads.value = uploads.value.filter(({ state }) => state !== 'done' && state !== 'failed'));

function change(id: number, by: Partial<Upload>): void {
  uploads.value = uploads.value.map((each) => (each.id === id ? { ...each, ...by } : each));
}

function next(): void {
  const underWay = uploads.value.filter(({ state }) => state === 'sending' || state === 'indexing').length;
  const waiting = uploads.value.filter(({ state }) => state === 'waiting').slice(0, AT_A_TIME - underWay);
  for (const each of waiting) {
    change(each.id, { state: 'sending' });
    send(each).then(
      (chunks) => change(each.id, { state: 'done', sent: 1, chunks }),
      (error: unknown) => change(each.id, { state: 'failed', error }),
    ).finally(next);
  }
}

/** The number of its chunks. */
function send({ id, at, file }: Upload): Promise<number> {
  const request = new XMLHttpRequest();
  request.open('POST', addressOf(pathOf(at, 'documents')));
  for (const [name, value] of Object.entries(keyHeaders())) request.setRequestHeader(name, value);
  request.upload.onprogress = ({ loaded, total }) => change(id, { sent: loaded / total });
  request.upload.onload = () => change(id, { state: 'indexing', sent: 1 });
  const answered = new Promise<number>((resolve, reject) => {
    request.onerror = () => reject(new SheafUnreachable(location.origin, 'the connection broke'));
    request.onload = () => {
      const answer = parse(request.responseText);
      if (request.status === 201) resolve((answer as { chunks?: number }).chunks ?? 0);
      else reject(new SheafError(request.status, answer.code ?? 'http_error', answer.error ?? request.statusText, { ...(answer.request_id && { requestId: answer.request_id }) }));
    };
  });
  const form = new FormData();
  form.set('file', file, file.name);
  request.send(form);
  return answered;
}

function parse(text: string): Partial<ErrorEnvelope> {
  try {
    return JSON.parse(text) as Partial<ErrorEnvelope>;
  } catch {
    return {};
  }
}
