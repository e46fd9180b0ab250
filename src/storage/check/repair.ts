// `sheaf repair`: repairs the damage that `sheaf check` reports if the data for it exists, and removes and reports what
// cannot be repaired. An environment with damaged pages is rebuilt from its readable entries, and the old one is kept.
// Runs in a process of its own.
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CollectionId } from '../../api/ids.js';
import { CATALOG_TABLES, raiseNextId } from '../catalog-records.js';
import { countAll } from '../counts.js';
import { Checksum } from '../damage.js';
import {
  CATALOG,
  CHECKPOINTS,
  type DataDirectory,
  DataDirectoryError,
  openDataDirectory,
  shardNames,
  storedLogs,
} from '../data-directory.js';
import { syncDirectory } from '../disk.js';
import { indexExpiries } from '../expiries.js';
import { collectionOfKey, collectionPrefix } from '../keys.js';
import { PageScan, type ScannedEntry } from '../lmdb-file.js';
import { Environment } from '../lmdb.js';
import { LOG_TABLES, setSize } from '../query-log.js';
import { encodeMembers } from '../records.js';
import { SHARD_TABLES } from '../shard-reader.js';
import { ALL, type Table, type Tables, isEmpty, isWhole, removeAll } from '../table.js';
import {
  type CollectionNames,
  type Finding,
  checkCheckpoints,
  checkPages,
  collectionsIn,
  nameOf,
  NAMING_TABLES,
  namesIn,
  printable,
} from './check.js';
import { type CollectionState, type ShardTables, inspectCollection } from './inspect-collection.js';

/**
 * Repairs the records of a shard whose pages are intact, in one transaction: members are reconstructed from chunks,
 * counts from documents. A document with any other loss is removed as a whole. Returns what was done.
 */
function repairShard(environment: string, tables: ShardTables, names: CollectionNames): Finding[] {
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
        what: members ? `repaired: ${why}` : `removed: ${why}`,
      });
    }
    done.push(...removeStray(environment, tables, state, collection));
  }
  for (const { key, value } of [...tables.leaving.inspect(ALL)]) if (!value) tables.leaving.delete(key);
  if (!isWhole(tables.answers)) removeAll(tables.answers);
  countAll(tables);
  indexExpiries(tables);
  // The log depends on a checkpoint, and all checkpoints have been removed.
  removeAll(tables.changes);
  return [...done, ...endJournal(environment, tables)];
}

/** Deletes a journal, because it does not have what repair changes. */
function endJournal(environment: string, { journal }: { journal: Table }): Finding[] {
  if (isEmpty(journal)) return [];
  removeAll(journal);
  return [{ environment, what: 'removed: the journal, which does not have what repair changes' }];
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
      ? [{ environment, collection, what: `removed: ${keys.length} ${table} of no intact document` }]
      : [];
  });
}

const ENTRIES_A_COMMIT = 2000;

interface Salvaged {
  entries: number;
  /** Entries whose checksums do not fit. */
  damaged: number;
  keptAs: string;
}

/**
 * Rebuilds an environment with damaged pages from every entry whose checksum fits. The old one is kept beside it under
 * another name.
 */
function salvage<Names extends string>(directory: string, environment: string, names: readonly Names[]): Salvaged {
  const made = `${directory}.new`;
  rmSync(made, { recursive: true, force: true });
  const fresh = Environment.open(made, names, false);
  const checksums = new Map(names.map((name) => [name as string, new Checksum(environment, name)]));
  const counted = { entries: 0, damaged: 0 };
  let batch: (ScannedEntry & { value: Buffer })[] = [];
  const store = (): void => {
    fresh.write((tables) => batch.forEach(({ table, key, value }) => tables[table as Names].put(key, value)));
    counted.entries += batch.length;
    batch = [];
  };
  for (const found of PageScan.over(join(directory, 'data.mdb'))) {
    if ('damage' in found) continue;
    const value = checksums.get(found.table)?.valueIn(found.key, found.sealed);
    if (!value) counted.damaged++;
    else if (batch.push({ ...found, key: Buffer.from(found.key), value: Buffer.from(value) }) === ENTRIES_A_COMMIT)
      store();
  }
  store();
  fresh.close();
  return { ...counted, keptAs: exchange(directory, made, counted.entries) };
}

function exchange(directory: string, made: string, entries: number): string {
  if (entries === 0) {
    rmSync(made, { recursive: true });
    throw new DataDirectoryError(`nothing can be read from ${directory}, so it was left unchanged`);
  }
  let keptAs = `${directory}.damaged`;
  for (let n = 2; existsSync(keptAs); n++) keptAs = `${directory}.damaged-${n}`;
  renameSync(directory, keptAs);
  renameSync(made, directory);
  syncDirectory(dirname(directory));
  return keptAs;
}

/**
 * Repairs a data directory, yielding each action when it is done. Throws DataDirectoryError if there is no directory, a
 * server uses it, or nothing of an environment can be read.
 */
export async function* repairDirectory(path: string): AsyncGenerator<Finding> {
  const directory = await openDataDirectory(path);
  try {
    yield* repairAll(directory);
  } finally {
    directory.release();
  }
}

function* repairAll(directory: DataDirectory): Generator<Finding> {
  const { path } = directory;
  for (const { environment, what } of checkCheckpoints(directory)) yield { environment, what: `removed: ${what}` };
  // Intact checkpoints are removed too, since the store they are based on may change.
  rmSync(join(path, CHECKPOINTS), { recursive: true, force: true });
  yield* repairPages(path, CATALOG, CATALOG_TABLES);
  const names = namesIn(checkPages(path, CATALOG, NAMING_TABLES));
  let lastId = Math.max(0, ...names.keys());
  for (const environment of shardNames(directory.shards)) {
    yield* repairPages(path, environment, SHARD_TABLES);
    yield* changed(path, environment, SHARD_TABLES, (tables) => {
      lastId = Math.max(lastId, ...collectionsIn(tables));
      return repairShard(environment, tables, names);
    });
  }
  yield* changed(path, CATALOG, CATALOG_TABLES, (tables) => repairCatalog(tables, lastId));
  for (const environment of storedLogs(path)) {
    yield* repairPages(path, environment, LOG_TABLES);
    yield* changed(path, environment, LOG_TABLES, (tables) => repairLog(environment, tables));
  }
}

function* repairPages<Names extends string>(
  path: string,
  environment: string,
  tables: readonly Names[],
): Generator<Finding> {
  const { damage } = checkPages(path, environment);
  if (damage.length === 0) return;
  const { entries, damaged, keptAs } = salvage(join(path, environment), environment, tables);
  yield {
    environment,
    what: `rebuilt with ${entries} entries, without ${damaged} damaged ones: ${damage[0]}${damage.length > 1 ? `, and ${damage.length - 1} more` : ''}; the old one is kept as ${keptAs}`,
  };
}

/** Opens an environment, changes it in one transaction, and closes it. */
function changed<Names extends string>(
  path: string,
  environment: string,
  names: readonly Names[],
  work: (tables: Tables<Names>) => Finding[],
): Finding[] {
  const env = Environment.open(join(path, environment), names, false);
  try {
    return env.write(work);
  } finally {
    env.close();
  }
}

/** Removes damaged records, and ensures that no id is assigned again under which anything was ever stored. */
function repairCatalog(tables: Tables<(typeof CATALOG_TABLES)[number]>, lastId: number): Finding[] {
  const done: Finding[] = [];
  for (const table of CATALOG_TABLES) {
    for (const { key, value } of [...tables[table].inspect(ALL)]) {
      if (value) continue;
      tables[table].delete(key);
      done.push({ environment: CATALOG, what: `removed: a record of table ${table}, key ${printable(key)}` });
    }
  }
  raiseNextId(tables.settings, lastId + 1);
  return [...done, ...endJournal(CATALOG, tables)];
}

/** Removes damaged entries with their places, and counts the sizes again. */
function repairLog(environment: string, tables: Tables<(typeof LOG_TABLES)[number]>): Finding[] {
  const sizes = new Map<CollectionId, { entries: number; bytes: number }>();
  const gone = { queries: 0, places: 0 };
  for (const { key, value } of [...tables.places.inspect(ALL)]) if (!value && ++gone.places) tables.places.delete(key);
  for (const { key, value } of [...tables.queries.inspect(ALL)]) {
    const id = key.subarray(4);
    if (!value || !tables.places.has(id)) {
      tables.queries.delete(key);
      tables.places.delete(id);
      gone.queries++;
      continue;
    }
    const size = sizes.get(collectionOfKey(key)) ?? { entries: 0, bytes: 0 };
    sizes.set(collectionOfKey(key), { entries: size.entries + 1, bytes: size.bytes + value.length });
  }
  removeAll(tables.sizes);
  for (const [id, size] of sizes) setSize(tables.sizes, id, size);
  return gone.queries > 0 ? [{ environment, what: `removed: ${gone.queries} logged searches` }] : [];
}
