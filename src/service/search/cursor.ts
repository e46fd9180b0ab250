// The cursor of a search: the position of the next page, bound to the search by a digest of its collection and its body.
// It is opaque to clients and holds nothing secret: a position in hits that the same search would show. Pure functions.
import { hash } from 'node:crypto';
import { type CollectionId, DOCID_BYTES_MAX } from '../../api/ids.js';
import { invalidField } from '../../api/errors.js';
import { REACH_MAX, TIME_MAX_MS } from '../../api/limits.js';
import type { SortPosition } from '../../engine/search/params.js';
import { isKind, isNumeric } from '../../engine/search/sort-key.js';
import { type SearchInput, loggedQuery } from './input.js';

/** The `cursor` of a first page. */
const FIRST_PAGE = '*';
const DIGEST_CHARACTERS = 22;

/**
 * The place of the page that the cursor of `input` stands for: the number of hits before it or, for a sorted search, the
 * last of them, and the time of the first page if the search is boosted. Throws 422 for any other cursor.
 */
export function placeOfCursor(collection: CollectionId, input: SearchInput): Partial<Place> {
  const cursor = input.cursor as string;
  if (cursor === FIRST_PAGE) return {};
  const [digest, place, nowMs] = partsOf(cursor);
  const found: Partial<Place> = input.sort
    ? { after: positionIn(place) }
    : { offset: offsetIn(place, input.k), ...(isTime(nowMs) && { nowMs }) };
  const isTimed = !input.boost_by || isTime(nowMs);
  if (typeof digest !== 'string' || (found.after ?? found.offset) === undefined || !isTimed)
    throw invalidCursor('Should be `*` for the first page, or the `next_cursor` of the page before.', cursor);
  if (digest !== digestOf(collection, input))
    throw invalidCursor(
      'This cursor belongs to another search. Send the body of the first page with it, or `*` for a first page.',
      cursor,
    );
  return found;
}

type Place = { [Name in 'offset' | 'after' | 'nowMs']: SearchInput[Name] };

const isTime = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TIME_MAX_MS;

/**
 * The cursor of the page after that of `input`; undefined if no search reaches it. `last`: the last hit of a sorted
 * search.
 */
export function cursorAt(collection: CollectionId, input: SearchInput, last?: SortPosition): string | undefined {
  const offset = (input.offset ?? 0) + input.k;
  if (!last && offset + input.k > REACH_MAX) return undefined;
  const place = last ? [last.kind, String(last.value), last.docid, last.index] : offset;
  const parts = [digestOf(collection, input), place, ...(input.boost_by ? [input.nowMs] : [])];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

function offsetIn(place: unknown, k: number): number | undefined {
  const isValid = typeof place === 'number' && Number.isInteger(place) && place >= 0 && place + k <= REACH_MAX;
  return isValid ? place : undefined;
}

/** Numbers are texts here, because JSON has no infinity. */
function positionIn(place: unknown): SortPosition | undefined {
  if (!Array.isArray(place)) return undefined;
  const [kind, value, docid, index] = place as unknown[];
  if (!isKind(kind) || typeof value !== 'string' || typeof docid !== 'string') return undefined;
  if (docid.length > DOCID_BYTES_MAX || !Number.isSafeInteger(index) || Number.isNaN(Number(isNumeric(kind) && value)))
    return undefined;
  return { kind, value: isNumeric(kind) ? Number(value) : value, docid, index: index as number };
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
function digestOf(
  collection: CollectionId,
  { v, queries, cursor: _cursor, offset: _offset, after: _after, nowMs: _now, ...fields }: SearchInput,
): string {
  const vector = v ? Buffer.from(Float32Array.from(v).buffer).toString('base64') : '';
  const all = { ...fields, queries: queries?.map(loggedQuery) };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value != null));
  const text = JSON.stringify([collection, vector, given], (_, value: unknown) => inOrder(value));
  return hash('sha256', text, 'base64url').slice(0, DIGEST_CHARACTERS);
}

/** An object with its keys in order. */
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
