// The order of sorted searches: kinds of values one after the other (numbers, times, other texts, booleans), values
// within their kind, then documents. Pure functions.
import type { Ordinal } from '../../api/ids.js';
import { timeOf } from '../../api/numbers.js';
import { compareUtf8 } from '../../base/bytes.js';
import { compareDocumentKeys } from '../../storage/keys.js';
import { beginningOf } from '../filter/field-terms.js';
import { numberOfDecimal } from '../filter/match.js';
import type { ScoredHit } from './merge.js';
import type { CollectionSearch, SortKind, SortPosition, SortSettings } from './params.js';

/** The field whose order is that of the documents. */
export const DOCID = 'docid';

/** The kinds of values in their order, whether ascending or descending. */
const NUMBER = 0;
const TIME = 1;
export const TEXT = 2;
const BOOLEAN = 3;
export const MISSING = 4;

type SortKey = Pick<SortPosition, 'kind' | 'value'>;

export const isKind = (kind: unknown): kind is SortKind =>
  Number.isInteger(kind) && (kind as number) >= NUMBER && (kind as number) <= MISSING;

/** Whether values of a kind are numbers. */
export const isNumeric = (kind: SortKind): boolean => kind === NUMBER || kind === TIME;

/**
 * The kind and the value by which a field is sorted: of several values, the first kind, and of that the first value in
 * the order. Texts are compared by their beginning, as the index has it.
 */
export function sortKey(value: unknown, descending: boolean): SortKey {
  const keys = (Array.isArray(value) ? (value as unknown[]) : [value]).map(scalarKey);
  keys.sort((a, b) => a.kind - b.kind || (descending ? -1 : 1) * compareValues(a.value, b.value));
  return keys[0] ?? { kind: MISSING, value: '' };
}

function scalarKey(value: unknown): SortKey {
  if (typeof value === 'number') return { kind: NUMBER, value };
  if (typeof value === 'boolean') return { kind: BOOLEAN, value: String(value) };
  if (typeof value !== 'string') return { kind: MISSING, value: '' };
  const number = numberOfDecimal(value);
  if (number !== undefined) return { kind: NUMBER, value: number };
  const timeMs = timeOf(value);
  if (timeMs !== undefined) return { kind: TIME, value: timeMs };
  return { kind: TEXT, value: beginningOf(value) };
}

export const compareValues = (a: number | string, b: number | string): number =>
  typeof a === 'string' || typeof b === 'string' ? compareUtf8(String(a), String(b)) : a < b ? -1 : a > b ? 1 : 0;

/** Compares two positions in the order of `sort`. Documents are compared as their keys are. */
export function compare(a: SortPosition, b: SortPosition, { field, descending }: SortSettings): number {
  const sign = descending ? -1 : 1;
  if (field === DOCID) return sign * compareDocumentKeys(a.docid, b.docid) || a.index - b.index;
  return (
    a.kind - b.kind ||
    sign * compareValues(a.value, b.value) ||
    compareDocumentKeys(a.docid, b.docid) ||
    a.index - b.index
  );
}

/** A chunk with its place in the order. */
export interface SortedEntry extends SortPosition {
  /** Index of the view among the views of this search. */
  readonly shard: number;
  readonly ordinal: Ordinal;
  readonly rowVersion: number;
}

/** The number of entries up to the end of the page. */
export const endOf = ({ k, results }: Pick<CollectionSearch, 'k' | 'results'>): number => (results?.offset ?? 0) + k;

/** The hits of one page of the first entries, and the place of the last one. */
export function sortedPage(
  entries: readonly SortedEntry[],
  search: Pick<CollectionSearch, 'k' | 'results'>,
  sort: SortSettings,
): { hits: ScoredHit[]; hasMore: boolean; last?: SortPosition } {
  const end = endOf(search);
  const page = entries.slice(end - search.k, end);
  const last = page.at(-1);
  return {
    hits: page.map((entry) => hitOf(entry, sort)),
    hasMore: entries.length > end,
    ...(last && { last: { kind: last.kind, value: last.value, docid: last.docid, index: last.index } }),
  };
}

const hitOf = ({ shard, ordinal, rowVersion }: SortedEntry, { field }: SortSettings): ScoredHit => ({
  candidate: { shard, ordinal, rowVersion, score: 0, cosine: NaN, bm25: NaN, priority: 0, matched: 0 },
  score: 0,
  basis: { mode: 'sorted', field },
});
