// What a front thread gets from the main thread when it starts: its ports, and cells that both see.
import type { MessagePort } from 'node:worker_threads';

/** Places in the cells of a front thread. */
export const FRONT_CELLS = {
  /** Changes of the shared state that the main thread has sent. */
  sent: 0,
  /** Connections that the front thread has taken. */
  sockets: 1,
  /** Searches in progress. */
  searches: 2,
  /** Requests in progress. */
  requests: 3,
  /** Logged searches that the front thread has not sent to a log worker yet. */
  gathered: 4,
} as const;

export interface FrontPorts {
  /** Changes of the shared state arrive here. */
  readonly state: MessagePort;
  /** Calls in both directions. */
  readonly calls: MessagePort;
  /** See FRONT_CELLS. */
  readonly cells: Int32Array;
}

/** A message that hands an accepted connection to a front thread, or ends the thread as an error would. */
export type FrontNote = { readonly socket: number } | { readonly end: true };
