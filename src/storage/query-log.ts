// The query log in LMDB: the searches of each collection by time, an index from query id to collection, and the size of
// each collection's log. An append and the removals it causes are one commit; larger changes run in bounded steps. The
// store runs in the log worker; archives and repairs read its tables.
import { createHash } from 'node:crypto';
import type { CollectionId } from '../api/ids.js';
import type { StoreMeter } from '../base/meters.js';
import type { ReadGate } from '../base/read-gate.js';
import { DamagedRecord } from './damage.js';
import { collectionOfKey, collectionPrefix } from './keys.js';
import { Environment } from './lmdb.js';
import type { FoundQuery, LogBounds } from './query-log-commands.js';
import { decodeQuery, idOfQueryKey, queryIdBytes, queryIdOf, queryKey, timeOfQueryKey } from './query-log-records.js';
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
  record: Uint8Array;
}

interface LogSize {
  entries: number;
  /** Total bytes of the records. */
  bytes: number;
}

/** Adds an entry; the caller updates the size of the log. Returns false if an entry with this id exists. */
function add({ queries, places }: LogTables, { collection, id, record }: LogEntry): boolean {
  const place = Buffer.from(id);
  if (places.has(place)) return false;
  places.put(place, collectionPrefix(collection));
  queries.put(queryKey(collection, id), Buffer.from(record));
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
  for (const { key, value } of queries.inspect(collectionPrefix(collection))) {
    if (gone.length === max || !(isBeyond(left, bounds) || timeOfQueryKey(key) < oldestMs)) break;
    gone.push(key);
    left.entries--;
    // The length of a damaged record is not known, so the sum of bytes is an approximation.
    left.bytes -= Math.min(left.bytes, value?.length ?? 0);
  }
  for (const key of gone) {
    queries.delete(key);
    places.delete(idOfQueryKey(key));
  }
  if (gone.length > 0) setSize(sizes, collection, left);
  return gone.length;
}

const isBeyond = ({ entries, bytes }: LogSize, { entriesMax, bytesMax }: LogBounds): boolean =>
  entries > entriesMax || bytes > bytesMax;

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
    const found = [...queries.inspect(key)];
    sizes.delete(key);
    setSize(sizes, collectionOfKey(key), {
      entries: found.length,
      bytes: found.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
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
  bounds: LogBounds,
): void {
  const size = sizeOf(tables.sizes, collection);
  for (const { id, record } of entries) {
    if (!record || !adopt(tables, { collection, id, record }, live)) continue;
    size.entries++;
    size.bytes += record.length;
  }
  setSize(tables.sizes, collection, size);
  removeOldest(tables, collection, bounds, 0, entries.length + PUSHED_OUT_MAX);
}

/**
 * Adds an entry of an archive. It keeps its id unless a live collection of this server has that id. It then gets an id
 * derived from the collection and its own id, so that restoring the same archive twice gives the same entries. Returns
 * false if the entry exists.
 */
function adopt(tables: AdoptedLogTables, entry: LogEntry, live: ReadonlySet<number>): boolean {
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

interface Page {
  /** Only entries older than this one. */
  before?: string;
  offset: number;
  limit: number;
  /** Older entries are not shown. */
  oldestMs: number;
}

/** The query log as the log worker has it. */
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

  /**
   * Stores entries of an archive until their collection has its name. Until then they are not visible, and a crash does
   * not lose them.
   */
  hold(entries: readonly LogEntry[]): void {
    this.env.write(({ held }) => {
      for (const { collection, id, record } of entries) held.put(queryKey(collection, id), Buffer.from(record));
    });
  }

  /**
   * Moves some of the entries that wait for `shadow` to the log of `to`, or deletes them if `to` is null, in one
   * commit. Returns their number. `live`: the collections whose entries must stay as they are.
   */
  release(shadow: CollectionId, to: CollectionId | null, live: ReadonlySet<number>, bounds: LogBounds): number {
    return this.env.write((tables) => {
      const taken = takeHeld(tables.held, shadow, RELEASED_MAX);
      if (to !== null) adoptAll(tables, to, taken, live, bounds);
      return taken.length;
    });
  }

  /** The collections for which entries wait. */
  held(): CollectionId[] {
    return this.env.read(({ held }) => [...new Set(Array.from(held.keys(ALL), collectionOfKey))]);
  }

  /** Entries, newest first, without malformed ones. Throws DamagedRecord. */
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
