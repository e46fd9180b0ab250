// Replies of the listings: reads `limit` and `cursor`, streams pages as they come, and writes the count last. Runs on
// front threads and on the main thread.
import { invalidField } from '../api/errors.js';
import { PAGE_MAX } from '../api/limits.js';
import type { Page, Span } from '../service/documents/listings.js';
import type { Reply } from './route.js';

// Cursors of the listings: where a page ended, in an opaque form. Pure.

/** No valid cursor is longer: a document id has at most 512 bytes. */
const CURSOR_CHARACTERS_MAX = 2048;

/**
 * Encodes a cursor. `listing` names the listing, so that no other accepts it; `place` is the last record of the page.
 */
export function encodeCursor(listing: string, place: string): string {
  return Buffer.from(JSON.stringify([listing, place])).toString('base64url');
}

/** The place in a cursor of this listing. Throws 422 for any other text, and for a place that does not match `form`. */
function decodeCursor(listing: string, cursor: string, form = /^/): string {
  const [of, place] = cursor.length <= CURSOR_CHARACTERS_MAX ? partsOf(cursor) : [];
  if (of === listing && typeof place === 'string' && form.test(place)) return place;
  throw invalidField(
    ['query', 'cursor'],
    'Should be a `next_cursor` of this listing.',
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

interface Listing {
  /** Fields that precede the records. */
  readonly head: object;
  /** The field with the records; it also identifies the cursors of this listing. */
  readonly field: string;
  readonly pages: (span: Span) => AsyncGenerator<Page>;
  /** The format of a place in this listing; absent if any text is valid. */
  readonly placeForm?: RegExp;
}

/**
 * All records, or up to `limit` of them after `cursor`, with a `next_cursor` if there are more. Throws 422 for an
 * invalid limit or cursor, and whatever reading the first page throws: the reply begins only after that.
 */
export async function listingReply(
  query: URLSearchParams,
  { head, field, pages, placeForm = /^/ }: Listing,
): Promise<Reply> {
  const limit = limitIn(query);
  const cursor = query.get('cursor');
  const after = cursor === null ? undefined : decodeCursor(field, cursor, placeForm);
  const records = await begun(pages({ after, max: limit + 1 }));
  return { status: 200, jsonStream: texts(`${JSON.stringify(head).slice(0, -1)},"${field}":[`, field, records, limit) };
}

/** The limit, from 1 to `PAGE_MAX`; Infinity if absent. */
function limitIn(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return Infinity;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > PAGE_MAX)
    throw invalidField(
      ['query', 'limit'],
      `Should be a whole number from 1 to ${PAGE_MAX}.`,
      'out_of_range',
      text.slice(0, 200),
    );
  return limit;
}

/** Reads the first page ahead, so that an error in it becomes an ordinary error reply. */
async function begun(pages: AsyncGenerator<Page>): Promise<AsyncGenerator<Page>> {
  const first = await pages.next();
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* pages;
  })();
}

async function* texts(head: string, field: string, pages: AsyncGenerator<Page>, limit: number): AsyncGenerator<string> {
  yield head;
  let count = 0;
  let last: string | undefined;
  let hasMore = false;
  for await (const { places, records } of pages) {
    const taken = records.slice(0, limit - count);
    if (taken.length > 0) yield `${count > 0 ? ',' : ''}${taken.join(',')}`;
    count += taken.length;
    last = places[taken.length - 1] ?? last;
    hasMore = taken.length < records.length;
    if (hasMore) break;
  }
  yield `],"count":${count}${hasMore && last !== undefined ? `,"next_cursor":${JSON.stringify(encodeCursor(field, last))}` : ''}`;
}
