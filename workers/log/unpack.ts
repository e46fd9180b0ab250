// Takes entries out of the buffers they travel in; the records stay views of the message. Log worker only.
// Packed by src/service/query-log-entries.ts.
import type { CollectionId } from '../../src/contract/ids.js';
import type { PackedEntries } from '../../src/contract/query-log.js';
import type { LogEntry } from '../../src/store/query-log-tables.js';
import { QUERY_ID_BYTES } from '../../src/store/query-records.js';

export function unpackEntries({ collections, ids, lengths, records }: PackedEntries): LogEntry[] {
  let end = 0;
  return Array.from(collections, (collection, i) => {
    const start = end;
    end += lengths[i] as number;
    const id = ids.subarray(i * QUERY_ID_BYTES, (i + 1) * QUERY_ID_BYTES);
    return { collection: collection as CollectionId, id, record: records.subarray(start, end) };
  });
}
