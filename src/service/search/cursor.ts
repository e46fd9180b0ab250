// The cursor of a search: the position of the next page, bound to the search by a digest of its collection and its body.
// It is opaque to clients and holds nothing secret: a position in hits that the same search would show. Pure functions.
import { hash } from 'node:crypto';
import type { CollectionId } from '../../api/ids.js';
import { invalidField } from '../../api/errors.js';
import { REACH_MAX } from '../../api/limits.js';
import type { SearchInput } from './query.js';

/** The `cursor` of a first page. */
const FIRST_PAGE = '*';
const DIGEST_CHARACTERS = 22;

/** The number of hits before the page that the cursor of `input` stands for. Throws 422 for any other cursor. */
export function offsetOfCursor(collection: CollectionId, input: SearchInput): number {
  const cursor = input.cursor as string;
  if (cursor === FIRST_PAGE) return 0;
  const [digest, offset] = partsOf(cursor);
  if (typeof digest !== 'string' || !Number.isInteger(offset) || (offset as number) + input.k > REACH_MAX)
    throw invalidCursor('Should be `*` for the first page, or the `next_cursor` of the page before.', cursor);
  if (digest !== digestOf(collection, input))
    throw invalidCursor(
      'This cursor belongs to another search. Send the body of the first page with it, or `*` for a first page.',
      cursor,
    );
  return offset as number;
}

/** The cursor of the page that begins after `offset` hits; undefined if no search reaches it. */
export function cursorAt(collection: CollectionId, input: SearchInput, offset: number): string | undefined {
  if (offset + input.k > REACH_MAX) return undefined;
  return Buffer.from(JSON.stringify([digestOf(collection, input), offset])).toString('base64url');
}

function partsOf(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

const invalidCursor = (message: string, cursor: string): Error =>
  invalidField(['body', 'cursor'], message, 'invalid_cursor', cursor.slice(0, 200));

/** Digest of everything that the ranking depends on. The order of the fields in the body does not matter. */
function digestOf(collection: CollectionId, { v, cursor: _cursor, offset: _offset, ...fields }: SearchInput): string {
  const vector = v ? Buffer.from(Float32Array.from(v).buffer).toString('base64') : '';
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
  const text = JSON.stringify([collection, vector, given], (_, value: unknown) => inOrder(value));
  return hash('sha256', text, 'base64url').slice(0, DIGEST_CHARACTERS);
}

/** An object with its keys in order. */
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
