// What the header Retry-After says (RFC 9110, 10.2.3). Pure.
// Used by the client (src/client/transport.ts) and by what calls other machines (workers/embed/remote).

/** Seconds or an HTTP date; undefined for anything else. */
export function parseRetryAfterMs(value: string, nowMs: number): number | undefined {
  if (/^\d+$/.test(value.trim())) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

// The type in a Content-Type: `text/csv; charset=utf-8` says `text/csv`. Pure.
// Used where a body or a file is told by the type its sender gives it.

/** In lower case, without parameters; '' where there is none. */
export const mediaTypeOf = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();
