// What a call of the client can fail with: an answer that refuses, or no answer.
import type { ErrorEnvelope } from '../api/common.js';
import type { ErrorType, ValidationDetail } from '../api/errors.js';
import { parseRetryAfterMs } from '../base/http-headers.js';

/** What an error envelope has beside code and message. */
interface Circumstances {
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
function classOf(type: ErrorType | undefined): typeof SheafError {
  if (type === 'not_found') return SheafNotFound;
  if (type === 'conflict') return SheafConflict;
  return type === 'unavailable' ? SheafUnavailable : SheafError;
}

/** What is wanted of a Response; an XMLHttpRequest can give it too. */
interface Refusal {
  readonly status: number;
  readonly statusText: string;
  readonly headers: { get(name: string): string | null };
}

/**
 * The error that an answer becomes which refuses. Its code is `http_error` for a body that is no envelope; the request id
 * is that of the header then.
 */
export function errorOf(response: Refusal, text: string): SheafError {
  const {
    code = 'http_error',
    error = response.statusText,
    error_type: type,
    details,
    detail,
    request_id,
  } = parseEnvelope(text);
  const retryAfter = response.headers.get('retry-after');
  const afterMs = retryAfter === null ? undefined : parseRetryAfterMs(retryAfter, Date.now());
  return new (classOf(type ?? typeOf(response.status)))(response.status, code, error, {
    requestId: request_id ?? response.headers.get('x-request-id') ?? undefined,
    details,
    detail,
    retryAfterS: afterMs === undefined ? undefined : afterMs / 1000,
  });
}

/** For answers of others than Sheaf: proxies, older servers. */
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
