// An entry of an archive finds its place in the query log. It keeps its id unless a collection of this server has it: then it gets one that
// follows from both, so that the same archive restored twice gives the same entries. Used by query-log-store.ts, inside its transaction.
import { createHash } from 'node:crypto';
import { collectionOfKey, collectionPrefix } from './keys.js';
import { add, LOG_TABLES, setSize, sizeOf, type LogEntry } from './query-log-tables.js';
import { queryKey } from './query-records.js';
import type { Tables } from './tables.js';

type LogTables = Tables<(typeof LOG_TABLES)[number]>;

/** Of a UUIDv7, at the head of it. */
const TIME_BYTES = 6;

/** False where the entry is there already. */
export function adopt(tables: LogTables, entry: LogEntry, live: ReadonlySet<number>): boolean {
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
