// Addresses of the API: base address, path segments, query strings. Pure.

/** Undefined and null values are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Throws TypeError if `url` is not an http or https address. */
export function parseBase(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new TypeError(`"${url}" is not an http address.`);
  return (parsed.origin + parsed.pathname).replace(/\/+$/, '');
}

/** An id that cannot be addressed in a URL. */
export class UnaddressableId extends TypeError {}

/** Encodes path segments. Throws UnaddressableId for a segment that cannot occur in a path. */
export const encodePath = (segments: readonly string[]): string =>
  segments.map((segment) => `/${encodeSegment(segment)}`).join('');

/** URL parsers resolve `.` and `..` even if percent-encoded, so such a request would reach another resource. */
function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..')
    throw new UnaddressableId(`"${segment}" cannot be part of an address.`);
  try {
    return encodeURIComponent(segment);
  } catch {
    throw new UnaddressableId('A lone surrogate cannot be part of an address.');
  }
}

/** A query string with its question mark; '' if all values are absent. */
export function encodeQuery(query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]));
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
