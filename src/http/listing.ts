// The answers of the listings: `limit` and `cursor` in, pages out as they come, the count last. Front thread.
// Called by the listing handlers (endpoints/), which say what is listed.
import { decodeCursor, encodeCursor } from '../contract/cursor.js';
import { invalidField } from '../contract/errors.js';
import { PAGE_MAX } from '../contract/limits.js';
import type { Page, Span } from '../service/listings.js';
import type { Reply } from './route.js';

export interface Listing {
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
