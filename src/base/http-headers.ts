// What headers of HTTP say. Pure; the client and the console use it as well.

/** Of Retry-After (RFC 9110, 10.2.3): seconds or an HTTP date; undefined for anything else. */
export function parseRetryAfterMs(value: string, nowMs: number): number | undefined {
  if (/^\d+$/.test(value.trim())) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** Of Content-Type: `text/csv; charset=utf-8` says `text/csv`. In lower case; '' where there is none. */
export const mediaTypeOf = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();
