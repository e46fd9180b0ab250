// An entry of an archive finds its place in the query log. It keeps its id unless a collection of this server has it:
// then it gets one that follows from both, so that the same archive restored twice gives the same entries. Until its
// collection has the name it waits in a table of its own: what a crash interrupts goes on from there. Used by
// query-log-store.ts, inside its transactions.
import { createHash } from 'node:crypto';
import type { LogBounds } from '../contract/query-log.js';
import { collectionOfKey, collectionPrefix } from './keys.js';
import {
  add,
  type LOG_TABLES,
  PUSHED_OUT_MAX,
  removeOldest,
  setSize,
  sizeOf,
  type LogEntry,
} from './query-log-tables.js';
import { idOfQueryKey, queryKey } from './query-records.js';
import type { Table, Tables } from './tables.js';

type LogTables = Tables<(typeof LOG_TABLES)[number]>;

/** Of a UUIDv7, at the head of it. */
const TIME_BYTES = 6;

/** One that is damaged has no record. */
interface HeldEntry {
  id: Buffer;
  record: Buffer | undefined;
}

/** Takes out up to `max` of what waits for a collection. */
export function takeHeld(held: Table, staged: LogEntry['collection'], max: number): HeldEntry[] {
  const taken: HeldEntry[] = [];
  for (const { key, value } of held.inspect(collectionPrefix(staged))) {
    if (taken.length === max) break;
    taken.push({ id: Buffer.from(idOfQueryKey(key)), record: value && Buffer.from(value) });
  }
  for (const { id } of taken) held.delete(queryKey(staged, id));
  return taken;
}

/** `live`: the collections that keep what they have. */
export function adoptAll(
  tables: LogTables,
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

/** False where the entry is there already. */
function adopt(tables: LogTables, entry: LogEntry, live: ReadonlySet<number>): boolean {
  const id = Buffer.from(entry.id);
  const place = tables.places.get(id);
  if (!place) return add(tables, entry);
  const owner = collectionOfKey(place);
  if (owner === entry.collection) return false;
  if (live.has(owner)) return add(tables, { ...entry, id: otherId(entry) });
  removeFrom(tables, owner, id);
  return add(tables, entry);
}

/** What is left of a collection that is no more, before it is removed in the background. */
function removeFrom({ queries, places, sizes }: LogTables, owner: LogEntry['collection'], id: Buffer): void {
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
