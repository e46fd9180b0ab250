// The query log in LMDB: the searches of each collection by time, where each one stands, and how much each collection
// has. Owned by the log worker. An append and what it pushes out are one commit; anything larger goes in bounded steps.
import type { Latch } from '../base/latch.js';
import type { CollectionId } from '../contract/ids.js';
import type { FoundQuery, LogBounds } from '../contract/query-log.js';
import type { StoreMeter } from '../contract/shared-meters.js';
import { DamagedRecord } from './damage.js';
import { collectionOfKey, collectionPrefix } from './keys.js';
import { Environment } from './lmdb.js';
import { adoptAll, takeHeld } from './query-log-adoption.js';
import {
  add,
  isBeyond,
  LOG_TABLES,
  mendSizes,
  PUSHED_OUT_MAX,
  removeOldest,
  setSize,
  sizeOf,
  type LogEntry,
  type LogSize,
} from './query-log-tables.js';
import { decodeQuery, idOfQueryKey, queryIdBytes, queryIdOf, queryKey, timeOfQueryKey } from './query-records.js';
import { ALL, isWhole } from './whole-table.js';

/** Entries that are released in one commit: about 5 ms. */
const RELEASED_MAX = 500;
const ABOVE_ALL_IDS = Buffer.alloc(17, 0xff);

export interface Page {
  /** Only entries older than this one. */
  before?: string;
  offset: number;
  limit: number;
  /** Entries of before are not seen. */
  oldestMs: number;
}

export class QueryLogStore {
  private constructor(private readonly env: Environment<(typeof LOG_TABLES)[number]>) {}

  static open(directory: string, takeOver: boolean, meter?: StoreMeter, latch?: Latch): QueryLogStore {
    const env = Environment.open(directory, LOG_TABLES, takeOver, meter, latch);
    if (!env.read(({ sizes }) => isWhole(sizes))) env.write(mendSizes);
    return new QueryLogStore(env);
  }

  /**
   * Adds entries in one commit, and removes the oldest where a collection has too many. One that is there is left
   * alone.
   */
  append(entries: readonly LogEntry[], bounds: LogBounds): void {
    this.env.write((tables) => {
      const added = new Map<CollectionId, LogSize>();
      for (const entry of entries) {
        if (!add(tables, entry)) continue;
        const sum = added.get(entry.collection) ?? { entries: 0, bytes: 0 };
        added.set(entry.collection, { entries: sum.entries + 1, bytes: sum.bytes + entry.record.length });
      }
      for (const [collection, { entries: count, bytes }] of added) {
        const size = sizeOf(tables.sizes, collection);
        setSize(tables.sizes, collection, { entries: size.entries + count, bytes: size.bytes + bytes });
        removeOldest(tables, collection, bounds, 0, count + PUSHED_OUT_MAX);
      }
    });
  }

  /** Entries of an archive wait for their collection: nobody sees them. */
  hold(entries: readonly LogEntry[]): void {
    this.env.write(({ held }) => {
      for (const { collection, id, record } of entries) held.put(queryKey(collection, id), Buffer.from(record));
    });
  }

  /**
   * Some of what waits for `staged` goes to `to`, or away, in one commit; how many. `live`: the collections that keep
   * what they have.
   */
  release(staged: CollectionId, to: CollectionId | null, live: ReadonlySet<number>, bounds: LogBounds): number {
    return this.env.write((tables) => {
      const taken = takeHeld(tables.held, staged, RELEASED_MAX);
      if (to !== null) adoptAll(tables, to, taken, live, bounds);
      return taken.length;
    });
  }

  /** Every collection that entries wait for. */
  held(): CollectionId[] {
    return this.env.read(({ held }) => [...new Set(Array.from(held.keys(ALL), collectionOfKey))]);
  }

  /** Newest first, without those that no search can have left. Throws DamagedRecord. */
  list(collection: CollectionId, { before, offset, limit, oldestMs }: Page): FoundQuery[] {
    return this.env.read(({ queries, sizes }) => {
      const found: FoundQuery[] = [];
      if (offset >= sizeOf(sizes, collection).entries) return found;
      let left = offset;
      for (const { key, value } of queries.entriesBelow(
        collectionPrefix(collection),
        queryKey(collection, before ? queryIdBytes(before) : ABOVE_ALL_IDS),
      )) {
        if (found.length === limit || timeOfQueryKey(key) < oldestMs) break;
        if (left-- > 0) continue;
        const query = readable(key, value);
        if (query) found.push(query);
      }
      return found;
    });
  }

  /** Throws DamagedRecord. */
  get(id: string, oldestMs: number): FoundQuery | undefined {
    return this.env.read(({ queries, places }) => {
      const place = places.get(queryIdBytes(id));
      const key = place && queryKey(collectionOfKey(place), queryIdBytes(id));
      const value = key && queries.get(key);
      return value && timeOfQueryKey(key) >= oldestMs ? foundQuery(key, value) : undefined;
    });
  }

  /** Every collection that has a log. */
  collections(): CollectionId[] {
    return this.env.read(({ sizes }) => [...sizes.keys(ALL)].map(collectionOfKey));
  }

  size(collection: CollectionId): LogSize {
    return this.env.read(({ sizes }) => sizeOf(sizes, collection));
  }

  /** True where something is beyond the bounds or from before `oldestMs`. */
  isOver(collection: CollectionId, bounds: LogBounds, oldestMs: number): boolean {
    return this.env.read(({ queries, sizes }) => {
      if (isBeyond(sizeOf(sizes, collection), bounds)) return true;
      for (const oldest of queries.keys(collectionPrefix(collection))) return timeOfQueryKey(oldest) < oldestMs;
      return false;
    });
  }

  /**
   * Removes up to `max` of a collection's oldest entries, while they are beyond the bounds or from before `oldestMs`;
   * how many went.
   */
  trim(collection: CollectionId, bounds: LogBounds, oldestMs: number, max: number): number {
    return this.env.write((tables) => removeOldest(tables, collection, bounds, oldestMs, max));
  }

  close(): void {
    this.env.close();
  }
}

const foundQuery = (key: Buffer, value: Buffer): FoundQuery => ({
  ...decodeQuery(value),
  id: queryIdOf(idOfQueryKey(key)),
  collection: collectionOfKey(key),
});

/**
 * undefined for a record that is as it was written, but is none: archives have been restored with such. It takes no
 * others of its log with it.
 */
function readable(key: Buffer, value: Buffer): FoundQuery | undefined {
  try {
    return foundQuery(key, value);
  } catch (error) {
    if (error instanceof DamagedRecord) return undefined;
    throw error;
  }
}
