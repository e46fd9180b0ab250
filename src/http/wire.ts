// The part of uWebSockets.js that the rest of this folder sees: what a request and a response of it can do. Types only,
// so that the library is touched in server.ts and uws.ts alone and could be replaced there. Front thread.

/** Valid only until the route callback returns: copy what is needed. */
export interface WireRequest {
  /** Lower case. */
  getMethod(): string;
  /** The raw path, still percent-encoded, without the query. */
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(visit: (lowerCaseName: string, value: string) => void): void;
}

/** Throws when touched after `onAborted` has fired or the reply has been handed over in full. */
export interface WireResponse {
  onAborted(gone: () => void): unknown;
  /** The chunk is emptied when the callback returns. A request without a body gets one empty last chunk. */
  onData(take: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  /**
   * Takes the socket out of the poll, for writing too, and keeps what it was polled for in one of two places that all
   * sockets share: one for sockets with bytes still to be written, one for those without. `resume` takes what the place
   * for the socket's state now holds, so a socket that is paused in one state and resumed in the other relies on pauses
   * of others.
   */
  pause(): void;
  resume(): void;
  cork(write: () => void): unknown;
  writeStatus(line: string | Uint8Array): unknown;
  writeHeader(name: string, value: string): unknown;
  end(body?: Uint8Array, closeConnection?: boolean): unknown;
  /** One chunk of a reply of unknown length. False when some of it, or of one before, still waits for the socket. */
  write(chunk: Uint8Array): boolean;
  endWithoutBody(): unknown;
  /**
   * Hands over what the socket takes at once. Answers whether that was all of `chunk`, and whether the reply is
   * complete.
   */
  tryEnd(chunk: Uint8Array, totalBytes: number): [boolean, boolean];
  onWritable(more: (offset: number) => boolean): unknown;
  /** Drops the connection; `onAborted` runs before it returns. */
  close(): unknown;
}
