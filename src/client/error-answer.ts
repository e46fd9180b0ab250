// An answer that refuses, as the error it becomes. Called by transport.ts, and by the console for its own calls.
// Pure.
import { parseRetryAfterMs } from '../base/retry-after.js';
import type { ErrorEnvelope } from '../contract/api/common.js';
import type { ErrorType } from '../contract/errors.js';
import { classOf, type SheafError } from './errors.js';

/** What is wanted of a Response; an XMLHttpRequest can give it too. */
export interface Refusal {
  readonly status: number;
  readonly statusText: string;
  readonly headers: { get(name: string): string | null };
}

/** `http_error` for a body that is no envelope; the request id is that of the header then. */
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
