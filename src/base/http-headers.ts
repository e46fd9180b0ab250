// What the header Retry-After says (RFC 9110, 10.2.3). Pure.
// Used by the client (src/client/retry.ts) and by what calls other machines (workers/embed/remote).

/** Seconds or an HTTP date; undefined for anything else. */
export function parseRetryAfterMs(value: string, nowMs: number): number | undefined {
  if (/^\d+$/.test(value.trim())) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
