// One store of the query log in LMDB: the searches of each collection by time, an index from query id to collection, and
// the size of each collection's log. The entries of a collection may be in several stores, and each store keeps the
// bounds for itself: who reads removes what is beyond them over all stores (src/service/query-log/query-log.ts). An
// append and the removals it causes are one commit; larger changes run in bounded steps. A log worker owns a store;
// archives and repairs read its tables.
import { createHash } from 'node:crypto';
import type { CollectionId } from '../api/ids.js';
import type { StoreMeter } from '../base/meters.js';
import type { ReadGate } from '../base/read-gate.js';
import { DamagedRecord } from './damage.js';
import { collectionOfKey, collectionPrefix } from './keys.js';
import { Environment } from './lmdb.js';
import {
  type FoundQuery,
  type LogBounds,
  type LogCommands,
  type LogRange,
  type LogSize,
  isBeyond,
} from './query-log-commands.js';
import {
  QUERY_ID_BYTES,
  decodeQuery,
  idOfQueryKey,
  queryIdBytes,
  queryIdOf,
  queryKey,
  timeOfQueryKey,
} from './query-log-records.js';
import { decode, encode } from './records.js';
import { ALL, type Table, type Tables, isWhole } from './table.js';

export const LOG_TABLES = ['queries', 'places', 'sizes', 'held'] as const;
/** Besides as many entries as it adds, a commit removes at most this many old entries of a collection. */
const PUSHED_OUT_MAX = 64;
type LogTables = Tables<(typeof LOG_TABLES)[number]>;

/** An entry to add: `id` is a UUIDv7 in 16 bytes, `record` an encoded LoggedQuery. */
export interface LogEntry {
  collection: CollectionId;
  id: Uint8Array;
  record: Buffer;
}

/** Adds an entry; the caller updates the size of the log. Returns false if an entry with this id exists. */
function add({ queries, places }: LogTables, { collection, id, record }: LogEntry): boolean {
  const key = queryKey(collection, id);
  const place = idOfQueryKey(key);
  if (places.has(place)) return false;
  places.put(place, collectionPrefix(collection));
  queries.put(key, record);
  return true;
}

/**
 * Removes up to `max` of the oldest entries while the log exceeds its bounds or they are older than `oldestMs`. Returns
 * how many were removed.
 */
function removeOldest(
  { queries, places, sizes }: LogTables,
  collection: CollectionId,
  bounds: LogBounds,
  oldestMs: number,
  max: number,
): number {
  const left = sizeOf(sizes, collection);
  const gone: Buffer[] = [];
  for (const { key, length } of queries.lengths(collectionPrefix(collection))) {
    if (gone.length === max || !(isBeyond(left, bounds) || timeOfQueryKey(key) < oldestMs)) break;
    gone.push(key);
    left.entries--;
    left.bytes -= Math.min(left.bytes, length);
  }
  for (const key of gone) {
    queries.deleteRead(key);
    places.delete(idOfQueryKey(key));
  }
  if (gone.length > 0) setSize(sizes, collection, left);
  return gone.length;
}

function sizeOf(sizes: Table, collection: CollectionId): LogSize {
  const bytes = sizes.get(collectionPrefix(collection));
  if (!bytes) return { entries: 0, bytes: 0 };
  const [count, total] = decode(bytes, ['number', 'number'], 'size of a query log') as [number, number];
  return { entries: count, bytes: total };
}

/** A collection without entries has no size record. */
export function setSize(sizes: Table, collection: CollectionId, { entries, bytes }: LogSize): void {
  if (entries === 0) sizes.delete(collectionPrefix(collection));
  else sizes.put(collectionPrefix(collection), encode([entries, bytes]));
}

/** Counts the logs again whose size record is damaged. */
function mendSizes({ queries, sizes }: LogTables): void {
  const damaged = [...sizes.inspect(ALL)].filter(({ value }) => !value).map(({ key }) => key);
  for (const key of damaged) {
    const found = [...queries.lengths(key)];
    sizes.delete(key);
    setSize(sizes, collectionOfKey(key), {
      entries: found.length,
      bytes: found.reduce((sum, { length }) => sum + length, 0),
    });
  }
}

type AdoptedLogTables = Tables<(typeof LOG_TABLES)[number]>;

/** Bytes of the timestamp at the start of a UUIDv7. */
const TIME_BYTES = 6;

/** An entry that waits for its collection; a damaged one has no record. */
interface HeldEntry {
  id: Buffer;
  record: Buffer | undefined;
}

/** Removes and returns up to `max` of the entries that wait for a collection. */
function takeHeld(held: Table, shadow: LogEntry['collection'], max: number): HeldEntry[] {
  const taken: HeldEntry[] = [];
  for (const { key, value } of held.inspect(collectionPrefix(shadow))) {
    if (taken.length === max) break;
    taken.push({ id: Buffer.from(idOfQueryKey(key)), record: value && Buffer.from(value) });
  }
  for (const { id } of taken) held.delete(queryKey(shadow, id));
  return taken;
}

/** Adds held entries to the log of `collection`. `live`: the collections whose entries must stay as they are. */
function adoptAll(
  tables: AdoptedLogTables,
  collection: LogEntry['collection'],
  entries: readonly HeldEntry[],
  live: ReadonlySet<number>,
  owners: Uint32Array,
  bounds: LogBounds,
): void {
  const size = sizeOf(tables.sizes, collection);
  for (const [i, { id, record }] of entries.entries()) {
    if (!record || !adopt(tables, { collection, id, record }, live, owners[i] ?? 0)) continue;
    size.entries++;
    size.bytes += record.length;
  }
  setSize(tables.sizes, collection, size);
  removeOldest(tables, collection, bounds, 0, entries.length + PUSHED_OUT_MAX);
}

/**
 * Adds an entry of an archive. It keeps its id unless a live collection of this server has that id. It then gets an id
 * derived from the collection and its own id, so that restoring the same archive twice gives the same entries. Returns
 * false if the entry exists. `elsewhere`: the collection that has the id in another store, or 0.
 */
function adopt(tables: AdoptedLogTables, entry: LogEntry, live: ReadonlySet<number>, elsewhere: number): boolean {
  if (elsewhere === entry.collection) return false;
  if (live.has(elsewhere)) return add(tables, { ...entry, id: otherId(entry) });
  const id = Buffer.from(entry.id);
  const place = tables.places.get(id);
  if (!place) return add(tables, entry);
  const owner = collectionOfKey(place);
  if (owner === entry.collection) return false;
  if (live.has(owner)) return add(tables, { ...entry, id: otherId(entry) });
  removeFrom(tables, owner, id);
  return add(tables, entry);
}

/** Removes an entry of a dropped collection whose log has not been removed in the background yet. */
function removeFrom({ queries, places, sizes }: AdoptedLogTables, owner: LogEntry['collection'], id: Buffer): void {
  const key = queryKey(owner, id);
  const record = queries.get(key);
  places.delete(id);
  if (!record) return;
  queries.delete(key);
  const { entries, bytes } = sizeOf(sizes, owner);
  setSize(sizes, owner, { entries: entries - 1, bytes: bytes - record.length });
}

function otherId({ collection, id }: LogEntry): Buffer {
  const digest = createHash('sha256').update(collectionPrefix(collection)).update(id).digest();
  const other = Buffer.concat([Buffer.from(id).subarray(0, TIME_BYTES), digest.subarray(0, 16 - TIME_BYTES)]);
  other[6] = 0x70 | ((other[6] as number) & 0x0f);
  other[8] = 0x80 | ((other[8] as number) & 0x3f);
  return other;
}

/** Entries released in one commit, which takes about 5 ms. */
const RELEASED_MAX = 500;
const ABOVE_ALL_IDS = Buffer.alloc(17, 0xff);
export const NOTHING: LogBounds = { entriesMax: 0, bytesMax: 0 };

/** The key above those of the entries that are older than `before`, or of all. */
const endOf = (collection: CollectionId, before: string | undefined): Buffer =>
  queryKey(collection, before === undefined ? ABOVE_ALL_IDS : queryIdBytes(before));

/** The part of the query log that a log worker has. */
export class QueryLogStore {
  private constructor(private readonly env: Environment<(typeof LOG_TABLES)[number]>) {}

  static open(directory: string, takeOver: boolean, meter?: StoreMeter, gate?: ReadGate): QueryLogStore {
    const env = Environment.open(directory, LOG_TABLES, takeOver, meter, gate);
    if (!env.read(({ sizes }) => isWhole(sizes))) env.write(mendSizes);
    return new QueryLogStore(env);
  }

  /**
   * Adds entries in one commit, and removes the oldest ones of collections that exceed their bounds. Entries whose id
   * exists are skipped.
   */
  append(entries: readonly LogEntry[], bounds: LogBounds): void {
    this.env.write((tables) => {
      const added = new Map<CollectionId, LogSize>();
      for (const entry of entries) {
        if (!add(tables, entry)) continue;
        const sum = added.get(entry.collection);
        if (sum) {
          sum.entries++;
          sum.bytes += entry.record.length;
        } else added.set(entry.collection, { entries: 1, bytes: entry.record.length });
      }
      for (const [collection, { entries: count, bytes }] of added) {
        const before = sizeOf(tables.sizes, collection);
        const size = { entries: before.entries + count, bytes: before.bytes + bytes };
        setSize(tables.sizes, collection, size);
        if (isBeyond(size, bounds)) removeOldest(tables, collection, bounds, 0, count + PUSHED_OUT_MAX);
      }
    });
  }

  /**
   * Stores entries of an archive until their collection has its name. Until then they are not visible, and a crash does
   * not lose them.
   */
  hold(entries: readonly LogEntry[]): void {
    this.env.write(({ held }) => {
      for (const { collection, id, record } of entries) held.put(queryKey(collection, id), record);
    });
  }

  /**
   * Moves some of the entries that wait for `shadow` to the log of `to`, or deletes them if `to` is null, in one
   * commit. Returns their number. `live`: the collections whose entries must stay as they are. `owners`: for each
   * entry, the collection that has its id in another store.
   */
  release(
    shadow: CollectionId,
    to: CollectionId | null,
    live: ReadonlySet<number>,
    owners: Uint32Array,
    bounds: LogBounds,
  ): number {
    return this.env.write((tables) => {
      const taken = takeHeld(tables.held, shadow, RELEASED_MAX);
      if (to !== null) adoptAll(tables, to, taken, live, owners, bounds);
      return taken.length;
    });
  }

  /** The ids of the entries that the next `release` of `shadow` takes, 16 bytes each. */
  releasable(shadow: CollectionId): Uint8Array {
    return this.env.read(({ held }) => {
      const ids: Buffer[] = [];
      for (const key of held.keys(collectionPrefix(shadow))) {
        if (ids.length === RELEASED_MAX) break;
        ids.push(idOfQueryKey(key));
      }
      return new Uint8Array(Buffer.concat(ids));
    });
  }

  /**
   * For each id of 16 bytes, the collection whose log here has it, or 0. Entries of collections that are neither `to`
   * nor in `live` are removed, because their log has not been removed in the background yet.
   */
  owners(ids: Uint8Array, to: CollectionId, live: ReadonlySet<number>): Uint32Array {
    return this.env.write((tables) =>
      Uint32Array.from({ length: ids.length / QUERY_ID_BYTES }, (_, i) => {
        const id = Buffer.from(ids.subarray(i * QUERY_ID_BYTES, (i + 1) * QUERY_ID_BYTES));
        const place = tables.places.get(id);
        const owner = place ? collectionOfKey(place) : 0;
        if (owner === 0 || owner === to || live.has(owner)) return owner;
        removeFrom(tables, owner, id);
        return 0;
      }),
    );
  }

  /** The collections for which entries wait. */
  held(): CollectionId[] {
    return this.env.read(({ held }) => [...new Set(Array.from(held.keys(ALL), collectionOfKey))]);
  }

  /** Entries, newest first, without malformed ones. Throws DamagedRecord. */
  list({ collection, before, oldestMs }: LogRange, limit: number): FoundQuery[] {
    return this.env.read(({ queries }) => {
      const found: FoundQuery[] = [];
      for (const { key, value } of queries.entriesBelow(collectionPrefix(collection), endOf(collection, before))) {
        if (found.length === limit || timeOfQueryKey(key) < oldestMs) break;
        const query = readable(key, value);
        if (query) found.push(query);
      }
      return found;
    });
  }

  /** Up to `limit` entries, oldest first, newer than `after` if given. */
  earliest({ collection, after, oldestMs, limit }: LogCommands['earliest']['request']): FoundQuery[] {
    return this.env.read(({ queries }) => {
      const found: FoundQuery[] = [];
      // The key after that of `after`, or the prefix itself.
      const from = after === undefined ? undefined : Buffer.concat([endOf(collection, after), Buffer.alloc(1)]);
      for (const { key, value } of queries.inspect(collectionPrefix(collection), from)) {
        if (found.length === limit) break;
        const query = value && timeOfQueryKey(key) >= oldestMs ? readable(key, value) : undefined;
        if (query) found.push(query);
      }
      return found;
    });
  }

  /** The ids of up to `count` entries, newest first, with those of malformed ones. */
  ids({ collection, before, oldestMs }: LogRange, count: number): string[] {
    return this.env.read(({ queries }) => {
      const ids: string[] = [];
      for (const key of queries.keysBelow(collectionPrefix(collection), endOf(collection, before))) {
        if (ids.length === count || timeOfQueryKey(key) < oldestMs) break;
        ids.push(queryIdOf(idOfQueryKey(key)));
      }
      return ids;
    });
  }

  /** The size of a collection's log, and its `count` oldest entries. */
  oldest(collection: CollectionId, count: number): LogSize & { ids: string[]; lengths: number[] } {
    return this.env.read(({ queries, sizes }) => {
      const [ids, lengths]: [string[], number[]] = [[], []];
      if (count > 0)
        for (const { key, length } of queries.lengths(collectionPrefix(collection))) {
          if (ids.length === count) break;
          ids.push(queryIdOf(idOfQueryKey(key)));
          lengths.push(length);
        }
      return { ...sizeOf(sizes, collection), ids, lengths };
    });
  }

  /** Removes the entries of a collection up to and including `id`. */
  removeUpTo(collection: CollectionId, id: string): void {
    const last = queryKey(collection, queryIdBytes(id));
    this.env.write((tables) => {
      let count = 0;
      for (const key of tables.queries.keys(collectionPrefix(collection))) {
        if (key.compare(last) > 0) break;
        count++;
      }
      removeOldest(tables, collection, NOTHING, 0, count);
    });
  }

  /** One entry by id; undefined if there is none or it is older than `oldestMs`. Throws DamagedRecord. */
  get(id: string, oldestMs: number): FoundQuery | undefined {
    return this.env.read(({ queries, places }) => {
      const place = places.get(queryIdBytes(id));
      const key = place && queryKey(collectionOfKey(place), queryIdBytes(id));
      const value = key && queries.get(key);
      return value && timeOfQueryKey(key) >= oldestMs ? foundQuery(key, value) : undefined;
    });
  }

  /** The collections that have a log. */
  collections(): CollectionId[] {
    return this.env.read(({ sizes }) => [...sizes.keys(ALL)].map(collectionOfKey));
  }

  size(collection: CollectionId): LogSize {
    return this.env.read(({ sizes }) => sizeOf(sizes, collection));
  }

  sizes(): (LogSize & { collection: CollectionId })[] {
    return this.env.read(({ sizes }) =>
      Array.from(sizes.keys(ALL), collectionOfKey).map((collection) => ({ collection, ...sizeOf(sizes, collection) })),
    );
  }

  /** Whether a log exceeds its bounds or has entries older than `oldestMs`. */
  isOver(collection: CollectionId, bounds: LogBounds, oldestMs: number): boolean {
    return this.env.read(({ queries, sizes }) => {
      if (isBeyond(sizeOf(sizes, collection), bounds)) return true;
      for (const oldest of queries.keys(collectionPrefix(collection))) return timeOfQueryKey(oldest) < oldestMs;
      return false;
    });
  }

  /**
   * Removes up to `max` of a collection's oldest entries while the log exceeds its bounds or they are older than
   * `oldestMs`. Returns how many were removed.
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
 * Decodes an entry. Returns undefined for a record with a valid checksum that is malformed, which a restored archive
 * may contain, so that the rest of the log stays readable.
 */
function readable(key: Buffer, value: Buffer): FoundQuery | undefined {
  try {
    return foundQuery(key, value);
  } catch (error) {
    if (error instanceof DamagedRecord) return undefined;
    throw error;
  }
}
