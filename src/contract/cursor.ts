// Cursors of the listings: where a page ended, as text that means nothing to a client. Pure.
// Made and read by the listing handlers, on the front thread.
import { invalidField } from './errors.js';

/** No place in a listing is longer: a document id has 512 bytes. */
const CURSOR_CHARACTERS_MAX = 2048;

/** `listing`: which listing it belongs to, so that no other takes it. `place`: the last record of the page. */
export function encodeCursor(listing: string, place: string): string {
  return Buffer.from(JSON.stringify([listing, place])).toString('base64url');
}

/**
 * The place in a cursor of this listing. Throws 422 for anything else, and where the place is not of the given form.
 */
export function decodeCursor(listing: string, cursor: string, form = /^/): string {
  const [of, place] = cursor.length <= CURSOR_CHARACTERS_MAX ? partsOf(cursor) : [];
  if (of === listing && typeof place === 'string' && form.test(place)) return place;
  throw invalidField(
    ['query', 'cursor'],
    'a `next_cursor` of this listing is wanted',
    'invalid_cursor',
    cursor.slice(0, 200),
  );
}

function partsOf(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}
