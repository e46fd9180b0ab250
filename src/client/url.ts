// Addresses of the server's resources: the base a client was given, path segments, query strings. Pure.

/** Undefined and null are left out. */
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Throws TypeError when `url` is no http or https address. */
export function parseBase(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new TypeError(`"${url}" is not an http address.`);
  return (parsed.origin + parsed.pathname).replace(/\/+$/, '');
}

/** An id that no address can name. */
export class UnaddressableId extends TypeError {}

/** Throws UnaddressableId for a segment that cannot stand in a path. */
export const encodePath = (segments: readonly string[]): string =>
  segments.map((segment) => `/${encodeSegment(segment)}`).join('');

/** A URL takes `.` and `..` for folders even when percent-encoded, so that a request would reach another resource. */
function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..')
    throw new UnaddressableId(`"${segment}" cannot stand in an address.`);
  try {
    return encodeURIComponent(segment);
  } catch {
    throw new UnaddressableId('Half a character cannot stand in an address.');
  }
}

/** With its question mark; '' where nothing is asked. */
export function encodeQuery(query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]));
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
