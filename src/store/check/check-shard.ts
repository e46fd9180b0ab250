// Looks at the records of a shard, whose pages are whole: every collection in it, and the counts. Reads only. Used by
// check-directory.ts; repair-shard.ts mends the same.
import type { CollectionId } from '../../contract/ids.js';
import { collectionOfKey } from '../keys.js';
import { readCounts } from '../part-counts.js';
import { nameOf, type CollectionNames, type Finding } from './findings.js';
import { inspectCollection, type CollectionState, type ShardTables } from './inspect-collection.js';
import { ALL } from '../whole-table.js';

const BY_COLLECTION = ['documents', 'members', 'chunks', 'texts', 'vectors'] as const;
export const DOCUMENT_TABLES: ReadonlySet<string> = new Set(BY_COLLECTION);

/** Every collection that has anything here. */
export function collectionsIn(tables: ShardTables): CollectionId[] {
  const ids = new Set<CollectionId>();
  for (const table of BY_COLLECTION)
    for (const key of tables[table].keys(ALL)) if (key.length >= 4) ids.add(collectionOfKey(key));
  return [...ids].sort((a, b) => a - b);
}

/** What belongs to no collection of the catalog is what a dropped one has left, and no damage. */
export function* checkShard(environment: string, tables: ShardTables, names: CollectionNames): Generator<Finding> {
  for (const id of collectionsIn(tables)) {
    if (!names.has(id)) continue;
    const state = inspectCollection(tables, id);
    const collection = nameOf(names, id);
    for (const { docid, key, why } of state.broken)
      yield { environment, collection, document: docid ?? key.toString('utf8', 4), what: why };
    for (const [table, keys] of Object.entries(state.stray))
      if (keys.length > 0)
        yield { environment, collection, what: `${keys.length} ${table} belong to no whole document` };
    const wrong = wrongCounts(tables, state);
    if (wrong) yield { environment, collection, what: wrong };
  }
}

function wrongCounts(tables: ShardTables, { id, documents, chunks, broken }: CollectionState): string | undefined {
  try {
    const counted = readCounts(tables.counts, id);
    // Damaged documents are counted, as they were.
    if (broken.length > 0 || (counted.documents === documents && counted.chunks === chunks)) return undefined;
    return `it counts ${counted.documents} documents and ${counted.chunks} chunks, and there are ${documents} and ${chunks}`;
  } catch {
    return 'its counts are damaged; they are made again at the next start';
  }
}
