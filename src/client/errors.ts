// Errors of the client: an error answer of the server, or no answer.
import type { ErrorEnvelope } from '../api/common.js';
import type { ErrorType, ValidationDetail } from '../api/errors.js';
import { parseRetryAfterMs } from '../base/http-headers.js';

/** Fields of an error envelope besides code and message. */
interface Circumstances {
  requestId?: string;
  details?: Record<string, unknown>;
  /** With status 422: an entry for each invalid field. */
  detail?: ValidationDetail[];
  /** The value of `Retry-After` in seconds. */
  retryAfterS?: number;
}

/** The server rejected the request or failed: its error envelope. Subclasses exist for errors that programs handle. */
export class SheafError extends Error {
  override readonly name: string = 'SheafError';
  readonly requestId?: string;
  readonly details?: Record<string, unknown>;
  readonly detail?: ValidationDetail[];
  readonly retryAfterS?: number;

  constructor(
    readonly status: number,
    /** Stable, machine-readable error code; `http_error` if the answer is not an error envelope (a proxy's page). */
    readonly code: string,
    message: string,
    circumstances: Circumstances = {},
  ) {
    super(message);
    Object.assign(this, circumstances);
  }
}

/** The collection, document, chunk, logged search, tenant or key does not exist. */
export class SheafNotFound extends SheafError {
  override readonly name = 'SheafNotFound';
}

/** The request conflicts with something that already exists. */
export class SheafConflict extends SheafError {
  override readonly name = 'SheafConflict';
}

/** Temporarily refused: a rate limit, a quota or an overload. Useful retries have already been made. */
export class SheafUnavailable extends SheafError {
  override readonly name = 'SheafUnavailable';
}

/**
 * No answer: the server is not reachable, the connection broke, or the request timed out. A write may or may not have
 * happened.
 */
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

/** The error class for an error type. */
function classOf(type: ErrorType | undefined): typeof SheafError {
  if (type === 'not_found') return SheafNotFound;
  if (type === 'conflict') return SheafConflict;
  return type === 'unavailable' ? SheafUnavailable : SheafError;
}

/** What is needed of a Response; an XMLHttpRequest can provide it too. */
interface Rejection {
  readonly status: number;
  readonly statusText: string;
  readonly headers: { get(name: string): string | null };
}

/**
 * Converts an error answer to an error. `body` is its text, or its value if that was MessagePack. If it is not an error
 * envelope, the code is `http_error` and the request
 * id comes from the header.
 */
export function errorOf(response: Rejection, body: string | object): SheafError {
  const {
    code = 'http_error',
    error = response.statusText,
    error_type: type,
    details,
    detail,
    request_id,
  }: Partial<ErrorEnvelope> = typeof body === 'string' ? parseEnvelope(body) : body;
  const retryAfter = response.headers.get('retry-after');
  const afterMs = retryAfter === null ? undefined : parseRetryAfterMs(retryAfter, Date.now());
  return new (classOf(type ?? typeOf(response.status)))(response.status, code, error, {
    requestId: request_id ?? response.headers.get('x-request-id') ?? undefined,
    details,
    detail,
    retryAfterS: afterMs === undefined ? undefined : afterMs / 1000,
  });
}

/** The error type by status, for answers that Sheaf did not write (proxies, older servers). */
function typeOf(status: number): ErrorType | undefined {
  if (status === 404) return 'not_found';
  if (status === 409) return 'conflict';
  return status === 429 || status === 503 ? 'unavailable' : undefined;
}

function parseEnvelope(text: string): Partial<ErrorEnvelope> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
