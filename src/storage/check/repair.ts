// `sheaf repair`: mends what `sheaf check` finds, as far as there is anything to mend it from, and names what was taken
// out because there is not. An environment whose pages are damaged is made anew from what can be read of it; the old
// one is kept. Called by the command line, which prints.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CollectionId } from '../../contract/ids.js';
import { CATALOG_TABLES } from '../catalog-records.js';
import { openDataDirectory, type DataDirectory } from '../data-dir.js';
import { raiseNextId } from '../catalog-tables.js';
import { collectionOfKey } from '../keys.js';
import { CATALOG, CHECKPOINTS, QUERY_LOG, shardNames } from '../paths.js';
import { Environment } from '../lmdb.js';
import { LOG_TABLES, setSize } from '../query-log-tables.js';
import { SHARD_TABLES } from '../shard-txn.js';
import type { Tables } from '../tables.js';
import { namesIn, printable } from './check-directory.js';
import { checkCheckpoints } from './check-checkpoints.js';
import { checkPages } from './check-pages.js';
import { collectionsIn } from './check-shard.js';
import type { Finding } from './findings.js';
import { repairShard } from './repair-shard.js';
import { salvage } from './salvage.js';
import { ALL, removeAll } from '../whole-table.js';

/**
 * What was done, as it is done. Throws DataDirectoryError where there is no directory, a server has it, or nothing of
 * an environment can be read.
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
  for (const { environment, what } of checkCheckpoints(directory)) yield { environment, what: `taken out: ${what}` };
  // Whole ones go too: what is in memory is made again from the store, which may be another one in a moment.
  rmSync(join(path, CHECKPOINTS), { recursive: true, force: true });
  yield* repairPages(path, CATALOG, CATALOG_TABLES);
  const names = namesIn(checkPages(path, CATALOG, ['collections']));
  let lastId = Math.max(0, ...names.keys());
  for (const environment of shardNames(directory.shards)) {
    yield* repairPages(path, environment, SHARD_TABLES);
    yield* changed(path, environment, SHARD_TABLES, (tables) => {
      lastId = Math.max(lastId, ...collectionsIn(tables));
      return repairShard(environment, tables, names);
    });
  }
  yield* changed(path, CATALOG, CATALOG_TABLES, (tables) => repairCatalog(tables, lastId));
  yield* repairPages(path, QUERY_LOG, LOG_TABLES);
  yield* changed(path, QUERY_LOG, LOG_TABLES, (tables) => repairLog(tables));
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
    what: `made anew with ${entries} entries, without ${damaged} damaged ones: ${damage[0]}${damage.length > 1 ? `, and ${damage.length - 1} more` : ''}; the old one is kept as ${keptAs}`,
  };
}

/** Opened, changed in one transaction, closed. */
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

/** A damaged record goes; ids that anything was ever stored under are not given again. */
function repairCatalog(tables: Tables<(typeof CATALOG_TABLES)[number]>, lastId: number): Finding[] {
  const done: Finding[] = [];
  for (const table of CATALOG_TABLES) {
    for (const { key, value } of [...tables[table].inspect(ALL)]) {
      if (value) continue;
      tables[table].delete(key);
      done.push({ environment: CATALOG, what: `taken out: a record of table ${table}, key ${printable(key)}` });
    }
  }
  raiseNextId(tables.settings, lastId + 1);
  return done;
}

/** Damaged entries go, with their places; sizes are counted again. */
function repairLog(tables: Tables<(typeof LOG_TABLES)[number]>): Finding[] {
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
  return gone.queries > 0 ? [{ environment: QUERY_LOG, what: `taken out: ${gone.queries} logged searches` }] : [];
}
