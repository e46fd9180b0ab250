// What changes in the tables of the query log inside one transaction: an entry in, the oldest ones out, and the size of
// a collection's log kept with them. Used by query-log-store.ts alone.
import type { CollectionId } from '../contract/ids.js';
import type { LogBounds } from '../contract/query-log.js';
import { collectionOfKey, collectionPrefix } from './keys.js';
import type { Table, Tables } from './tables.js';
import { idOfQueryKey, queryKey, timeOfQueryKey } from './query-records.js';
import { decode, encode } from './records.js';
import { ALL } from './whole-table.js';

export const LOG_TABLES = ['queries', 'places', 'sizes', 'held'] as const;
/** Beyond what it brings itself, a commit pushes out at most so many entries of a collection. */
export const PUSHED_OUT_MAX = 64;
type LogTables = Tables<(typeof LOG_TABLES)[number]>;

export interface LogEntry {
  collection: CollectionId;
  id: Uint8Array;
  record: Uint8Array;
}

export interface LogSize {
  entries: number;
  /** Of the records. */
  bytes: number;
}

/** False where an entry of this id is there already. */
export function add({ queries, places }: LogTables, { collection, id, record }: LogEntry): boolean {
  const place = Buffer.from(id);
  if (places.has(place)) return false;
  places.put(place, collectionPrefix(collection));
  queries.put(queryKey(collection, id), Buffer.from(record));
  return true;
}

/**
 * Removes up to `max` of the oldest entries, while they are beyond the bounds or from before `oldestMs`; how many went.
 */
export function removeOldest(
  { queries, places, sizes }: LogTables,
  collection: CollectionId,
  bounds: LogBounds,
  oldestMs: number,
  max: number,
): number {
  const left = sizeOf(sizes, collection);
  const gone: Buffer[] = [];
  for (const { key, value } of queries.inspect(collectionPrefix(collection))) {
    if (gone.length === max || !(isBeyond(left, bounds) || timeOfQueryKey(key) < oldestMs)) break;
    gone.push(key);
    left.entries--;
    // Of a damaged one the length is not known, and the sum is a bound, no more.
    left.bytes -= Math.min(left.bytes, value?.length ?? 0);
  }
  for (const key of gone) {
    queries.delete(key);
    places.delete(idOfQueryKey(key));
  }
  if (gone.length > 0) setSize(sizes, collection, left);
  return gone.length;
}

export const isBeyond = ({ entries, bytes }: LogSize, { entriesMax, bytesMax }: LogBounds): boolean =>
  entries > entriesMax || bytes > bytesMax;

export function sizeOf(sizes: Table, collection: CollectionId): LogSize {
  const bytes = sizes.get(collectionPrefix(collection));
  if (!bytes) return { entries: 0, bytes: 0 };
  const [count, total] = decode(bytes, ['number', 'number'], 'size of a query log') as [number, number];
  return { entries: count, bytes: total };
}

/** A collection without entries has no size: it is in no list. */
export function setSize(sizes: Table, collection: CollectionId, { entries, bytes }: LogSize): void {
  if (entries === 0) sizes.delete(collectionPrefix(collection));
  else sizes.put(collectionPrefix(collection), encode([entries, bytes]));
}

/** Counts the logs again whose size is damaged. */
export function mendSizes({ queries, sizes }: LogTables): void {
  const damaged = [...sizes.inspect(ALL)].filter(({ value }) => !value).map(({ key }) => key);
  for (const key of damaged) {
    const found = [...queries.inspect(key)];
    sizes.delete(key);
    setSize(sizes, collectionOfKey(key), {
      entries: found.length,
      bytes: found.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
    });
  }
}
