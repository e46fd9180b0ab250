// Mends the records of a shard whose pages are whole: lists of chunks are made again from the chunks, counts from the
// documents; a document of which anything else is missing is taken out whole and named. One transaction. Used by
// repair-directory.ts.
import { collectionPrefix } from '../keys.js';
import { countAll } from '../part-counts.js';
import { encodeMembers } from '../records.js';
import { ALL, removeAll } from '../whole-table.js';
import { collectionsIn } from './check-shard.js';
import { nameOf, type CollectionNames, type Finding } from './findings.js';
import { inspectCollection, type CollectionState, type ShardTables } from './inspect-collection.js';

/** What was done. */
export function repairShard(environment: string, tables: ShardTables, names: CollectionNames): Finding[] {
  const done: Finding[] = [];
  for (const id of collectionsIn(tables)) {
    if (!names.has(id)) continue;
    const state = inspectCollection(tables, id);
    const collection = nameOf(names, id);
    for (const { key, docid, why, members } of state.broken) {
      if (members) tables.members.put(key, encodeMembers(members));
      else for (const table of ['documents', 'members'] as const) tables[table].delete(key);
      done.push({
        environment,
        collection,
        document: docid ?? key.toString('utf8', 4),
        what: members ? `mended: ${why}` : `taken out: ${why}`,
      });
    }
    done.push(...removeStray(environment, tables, state, collection));
  }
  for (const { key, value } of [...tables.leaving.inspect(ALL)]) if (!value) tables.leaving.delete(key);
  countAll(tables);
  // It goes on from a checkpoint, and these have gone.
  removeAll(tables.changes);
  return done;
}

function removeStray(
  environment: string,
  tables: ShardTables,
  { id, stray }: CollectionState,
  collection: string,
): Finding[] {
  return Object.entries(stray).flatMap(([table, keys]) => {
    for (const key of keys)
      if (key.compare(collectionPrefix(id), 0, 4, 0, 4) === 0) tables[table as keyof typeof stray].delete(key);
    return keys.length > 0
      ? [{ environment, collection, what: `taken out: ${keys.length} ${table} of no whole document` }]
      : [];
  });
}
