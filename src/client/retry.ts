// When to send a refused request again, and how long to wait before. Called by transport.ts, which does the waiting.
// Pure.
import { parseRetryAfterMs } from '../base/retry-after.js';
import type { ErrorCode } from '../contract/errors.js';

export const RETRIES_MAX = 5;
/** No single wait is longer, whatever the server asks for. */
export const WAIT_MAX_MS = 30_000;
const WAIT_FIRST_MS = 250;

/**
 * True for the answers that mean "not now": rate limits, overload, a shard being rebuilt. Nothing has been done then.
 */
export const isRefusal = (status: number): boolean => status === 429 || status === 503;

/** Quotas are refusals with status 429 too, but no waiting makes room; nor does it mend what is damaged. */
const LASTING: ReadonlySet<string> = new Set<ErrorCode>([
  'collection_limit_reached',
  'chunk_limit_reached',
  'collection_damaged',
]);

/** Whether the same request may succeed after a wait. */
export const isWorthRetry = (status: number, code: string): boolean => isRefusal(status) && !LASTING.has(code);

/**
 * Milliseconds to wait before retry number `attempt` (from 0): what `Retry-After` asks for (seconds or an HTTP date),
 * else doubling from 250 ms; up to a quarter is added by `random` in [0, 1), so that refused clients do not come back
 * together.
 */
export function retryWaitMs(attempt: number, retryAfter: string | null, nowMs: number, random: number): number {
  const askedMs = retryAfter === null ? undefined : parseRetryAfterMs(retryAfter, nowMs);
  const waitMs = askedMs ?? WAIT_FIRST_MS * 2 ** attempt;
  return Math.min(WAIT_MAX_MS, Math.round(waitMs * (1 + random / 4)));
}
