// Packs logged searches for their way to the log worker: each as the bytes of its record, many in a few buffers.
// Unpacked by workers/log/unpack.ts. Called by query-log.ts on the front thread; pure.
import type { Log } from '../base/log.js';
import type { CollectionId } from '../contract/ids.js';
import type { PackedEntries } from '../contract/query-log.js';
import { QUERY_ID_BYTES, queryIdBytes } from '../store/query-records.js';
import type { LogPool } from '../pool/log-pool.js';

export interface QueryLogOptions {
  pool: LogPool;
  /** False: nothing is appended; what is there can be read. */
  enabled: boolean;
  ageDaysMax: number;
  /** Bytes of records on their way to the disk. */
  waitingBytesMax: number;
  log: Log;
  nowMs: () => number;
}

export interface NewEntry {
  id: string;
  collection: CollectionId;
  record: Buffer;
}

export function packEntries(entries: readonly NewEntry[]): PackedEntries {
  const records = entries.map(({ record }) => record);
  const ids = new Uint8Array(entries.length * QUERY_ID_BYTES);
  entries.forEach(({ id }, i) => ids.set(queryIdBytes(id), i * QUERY_ID_BYTES));
  return {
    collections: Uint32Array.from(entries, ({ collection }) => collection),
    ids,
    lengths: Uint32Array.from(records, ({ length }) => length),
    records: joined(records),
  };
}

/** In a buffer of its own: what travels between threads is the whole buffer beneath a view. */
function joined(records: readonly Buffer[]): Uint8Array {
  const bytes = new Uint8Array(records.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const record of records) {
    bytes.set(record, at);
    at += record.length;
  }
  return bytes;
}
