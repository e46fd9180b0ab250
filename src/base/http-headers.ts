// Parsing of HTTP headers. Pure functions without dependencies on Node, so browsers can use them.

/** Parses Retry-After (RFC 9110, 10.2.3), seconds or an HTTP date; undefined for anything else. */
export function parseRetryAfterMs(value: string, nowMs: number): number | undefined {
  if (/^\d+$/.test(value.trim())) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/**
 * The media type of a Content-Type header in lower case, so `text/csv` for `text/csv; charset=utf-8`; '' if there is
 * none.
 */
export const mediaTypeOf = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();
