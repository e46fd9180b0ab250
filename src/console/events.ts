// Follows what happens to a collection: its events, over a stream that is taken up again where it broke off. One stream
// a page, of the collection that is open; views listen by `useHappening`.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { SheafError } from '../client/errors.js';
import { type At, open, pathOf } from './api.js';
import { breaks } from './state.js';
import { EventLines } from './updates.js';

export interface Happening {
  /** `job`, `ingest`, `delete`, `collection`; `reset`: some were missed. */
  readonly type: string;
  readonly data: Record<string, unknown>;
}

const RETRY_MS = 3000;

/** Whether the stream stands. */
export const isLive = signal(false);
const listeners = new Set<(happening: Happening) => void>();

const tell = (happening: Happening): void => listeners.forEach((hear) => hear(happening));

/** Calls `hear` with what happens to the open collection while the component is shown. */
export function useHappening(hear: (happening: Happening) => void): void {
  useEffect(() => {
    listeners.add(hear);
    return () => void listeners.delete(hear);
  });
}

/** Until `signal` is aborted. A refusal ends it, unless it means "not now": the views go on without. */
export async function follow(at: At, signal: AbortSignal): Promise<void> {
  const isOver = (): boolean => signal.aborted;
  let lastId = '';
  while (!isOver()) {
    try {
      const response = await open(pathOf(at, 'events'), { signal }, lastId ? { 'last-event-id': lastId } : {});
      isLive.value = true;
      // Before the first event there is nothing to go on from: what happened until now may have been missed.
      if (lastId === '') tell({ type: 'reset', data: {} });
      lastId = await readAll(response, lastId);
    } catch (error) {
      if (isOver() || (error instanceof SheafError && error.status < 500 && error.status !== 429)) break;
    } finally {
      isLive.value = false;
    }
    breaks.value += 1;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function readAll(response: Response, since: string): Promise<string> {
  let lastId = since;
  const lines = new EventLines();
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      for (const { id, type, data } of lines.take(piece.value)) {
        lastId = id || lastId;
        tell({ type, data: JSON.parse(data) as Record<string, unknown> });
      }
    }
  } catch {
    // The connection broke: it is taken up where it was.
  }
  return lastId;
}
