// Events of the open collection over a stream that reconnects and continues after the last event. One stream per page.
// Views listen with `useHappening`.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { SheafError } from '../client/errors.js';
import { type At, open, pathOf } from './api.js';
import { breaks } from './state.js';
import { EventLines } from './updates.js';

export interface Happening {
  /** `job`, `ingest`, `delete` or `collection`; `reset` if events were missed. */
  readonly type: string;
  readonly data: Record<string, unknown>;
}

const RETRY_MS = 3000;

/** Whether the stream is connected. */
export const isLive = signal(false);
const listeners = new Set<(happening: Happening) => void>();

const tell = (happening: Happening): void => listeners.forEach((hear) => hear(happening));

/** Calls `hear` with events of the open collection while the component is mounted. */
export function useHappening(hear: (happening: Happening) => void): void {
  useEffect(() => {
    listeners.add(hear);
    return () => void listeners.delete(hear);
  });
}

/** Follows the events until `signal` is aborted. A client error ends it, except 429; the views work without events. */
export async function follow(at: At, signal: AbortSignal): Promise<void> {
  const isOver = (): boolean => signal.aborted;
  let lastId = '';
  while (!isOver()) {
    try {
      const response = await open(pathOf(at, 'events'), { signal }, lastId ? { 'last-event-id': lastId } : {});
      isLive.value = true;
      // Before the first event there is no id to continue from, so events may have been missed.
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
    // The connection broke; the caller reconnects after the last event.
  }
  return lastId;
}
