// The answers of the listings: `limit` and `cursor` in, pages out as they come, the count last. Front thread.
import { invalidField } from '../api/errors.js';
import { PAGE_MAX } from '../api/limits.js';
import type { Page, Span } from '../service/documents/listings.js';
import type { Reply } from './route.js';

// Cursors of the listings: where a page ended, as text that means nothing to a client. Pure.

/** No place in a listing is longer: a document id has 512 bytes. */
const CURSOR_CHARACTERS_MAX = 2048;

/** `listing`: which listing it belongs to, so that no other takes it. `place`: the last record of the page. */
export function encodeCursor(listing: string, place: string): string {
  return Buffer.from(JSON.stringify([listing, place])).toString('base64url');
}

/**
 * The place in a cursor of this listing. Throws 422 for anything else, and where the place is not of the given form.
 */
function decodeCursor(listing: string, cursor: string, form = /^/): string {
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

interface Listing {
  /** Fields that come before the records. */
  readonly head: object;
  /** Name of the field with the records; also what its cursors are good for. */
  readonly field: string;
  readonly pages: (span: Span) => AsyncGenerator<Page>;
  /** What the places of this listing look like; absent where any text will do. */
  readonly placeForm?: RegExp;
}

/**
 * All records, or `limit` of them behind `cursor` with a `next_cursor` where there are more. Throws 422 for a limit or
 * a cursor that is none, and what getting the first page throws: only then does the answer begin.
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

/** 1 to PAGE_MAX; Infinity where there is none. */
function limitIn(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return Infinity;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > PAGE_MAX)
    throw invalidField(
      ['query', 'limit'],
      `a whole number from 1 to ${PAGE_MAX} is wanted`,
      'out_of_range',
      text.slice(0, 200),
    );
  return limit;
}

/** The same pages, the first of which is there. */
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
