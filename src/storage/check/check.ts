// `sheaf check`: looks through all that a stopped server keeps, and names what is damaged. First the pages of each
// environment without the library, then, where these are whole, the records against each other, and in the end the
// checkpoints. Called by the command line, which prints; changes nothing.
import { join } from 'node:path';
import type { CollectionId } from '../../contract/ids.js';
import { CATALOG_TABLES, decodeCollection } from '../catalog-records.js';
import { openDataDirectory, type DataDirectory } from '../data-dir.js';
import { Environment } from '../lmdb.js';
import { CATALOG, QUERY_LOG, shardNames } from '../paths.js';
import { SHARD_TABLES } from '../shard-txn.js';
import { checkCheckpoints } from './check-checkpoints.js';
import { checkPages, type PagesFound } from './check-pages.js';
import { checkShard, DOCUMENT_TABLES } from './check-shard.js';
import type { CollectionNames, Finding } from './findings.js';

/** Throws DataDirectoryError where there is none, or a server has it. */
export async function* checkDirectory(path: string): AsyncGenerator<Finding> {
  const directory = await openDataDirectory(path);
  try {
    yield* findings(directory);
  } finally {
    directory.release();
  }
}

function* findings(directory: DataDirectory): Generator<Finding> {
  const catalog = checkPages(directory.path, CATALOG, ['collections']);
  yield* told(CATALOG, catalog);
  const names = namesIn(catalog);
  for (const environment of shardNames(directory.shards)) yield* findingsInShard(directory, environment, names);
  yield* told(QUERY_LOG, checkPages(directory.path, QUERY_LOG));
  yield* checkCheckpoints(directory);
}

function* findingsInShard({ path }: DataDirectory, environment: string, names: CollectionNames): Generator<Finding> {
  const pages = checkPages(path, environment);
  // Records that belong to documents are looked at together, and named by these.
  if (pages.damage.length > 0) return yield* told(environment, pages);
  yield* told(environment, { ...pages, records: pages.records.filter(({ table }) => !DOCUMENT_TABLES.has(table)) });
  const env = Environment.open(join(path, environment), SHARD_TABLES, false);
  try {
    yield* env.read((tables) => [...checkShard(environment, tables, names)]);
  } finally {
    env.close();
  }
}

/** Tenant/name by id, of the collections whose records are whole. */
export function namesIn({ whole }: PagesFound): CollectionNames {
  const collections = (whole.get(CATALOG_TABLES[0]) ?? []).map(({ value }) => decodeCollection(value));
  return new Map(collections.map(({ id, tenant, name }) => [id as CollectionId, `${tenant}/${name}`]));
}

function* told(environment: string, { damage, records }: PagesFound): Generator<Finding> {
  for (const what of damage) yield { environment, what };
  for (const { table, key } of records)
    yield { environment, what: `a record of table ${table} is damaged, key ${printable(key)}` };
}

/** A text where it is one, else its bytes in hexadecimal digits. */
export function printable(key: Buffer): string {
  const text = key.toString('utf8').replace('\0', '/');
  return /^[\w/.-]+$/.test(text) ? text : key.toString('hex');
}
