// What a call of the client can fail with: an answer that refuses, or no answer. Thrown by transport.ts and client.ts, caught
// by the command line and by other programs.

/** The server refused the request, or failed at it: its error envelope. */
export class SheafError extends Error {
  override readonly name = 'SheafError';
  constructor(
    readonly status: number,
    /** Stable, machine-readable code of the interface; `http_error` where the answer was no envelope (a proxy's page). */
    readonly code: string,
    message: string,
    readonly requestId?: string,
    readonly details?: Record<string, unknown>,
  ) {
    super(message);
  }
}

/** No answer: nothing listens there, the connection broke, or the time was up. A write may or may not have happened. */
export class SheafUnreachable extends Error {
  override readonly name = 'SheafUnreachable';
  constructor(readonly url: string, reason: string, options?: ErrorOptions) {
    super(`No answer from ${url}: ${reason}`, options);
  }
}
