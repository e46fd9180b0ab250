// What a call of the client can fail with: an answer that refuses, or no answer. Thrown by transport.ts and calls.ts,
// caught by the command line and by other programs.
import type { ErrorType, ValidationDetail } from '../contract/errors.js';

/** What an error envelope has beside code and message. */
export interface Circumstances {
  requestId?: string;
  details?: Record<string, unknown>;
  /** Of a 422: what is wrong, field by field. */
  detail?: ValidationDetail[];
  /** What `Retry-After` said. */
  retryAfterS?: number;
}

/**
 * The server refused the request, or failed at it: its error envelope. Its subclasses are for those that programs act
 * on.
 */
export class SheafError extends Error {
  override readonly name: string = 'SheafError';
  readonly requestId?: string;
  readonly details?: Record<string, unknown>;
  readonly detail?: ValidationDetail[];
  readonly retryAfterS?: number;

  constructor(
    readonly status: number,
    /**
     * Stable, machine-readable code of the interface; `http_error` where the answer was no envelope (a proxy's page).
     */
    readonly code: string,
    message: string,
    circumstances: Circumstances = {},
  ) {
    super(message);
    Object.assign(this, circumstances);
  }
}

/** There is no such collection, document, chunk, logged search, tenant or key. */
export class SheafNotFound extends SheafError {
  override readonly name = 'SheafNotFound';
}

/** What is there already is in the way. */
export class SheafConflict extends SheafError {
  override readonly name = 'SheafConflict';
}

/** Not now: a rate limit, a quota, an overload. Retries, where they help, have been made. */
export class SheafUnavailable extends SheafError {
  override readonly name = 'SheafUnavailable';
}

/** No answer: nothing listens there, the connection broke, or the time was up. A write may or may not have happened. */
export class SheafUnreachable extends Error {
  override readonly name = 'SheafUnreachable';
  constructor(
    readonly url: string,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`No answer from ${url}: ${reason}`, options);
  }
}

/** The class for a kind of error. */
export function classOf(type: ErrorType | undefined): typeof SheafError {
  if (type === 'not_found') return SheafNotFound;
  if (type === 'conflict') return SheafConflict;
  return type === 'unavailable' ? SheafUnavailable : SheafError;
}
