// `sheaf check`: looks through all that a stopped server keeps, and names what is damaged. First the pages of each
// environment without the library, then, where these are whole, the records against each other, and in the end the
// checkpoints. Reads only. A process of its own.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CollectionId } from '../../api/ids.js';
import { CATALOG_TABLES, decodeCollection } from '../catalog-records.js';
import {
  CheckpointFiles,
  DamagedCheckpoint,
  type ImageEntry,
  ImageFile,
  type Manifest,
  REGION_BYTES,
} from '../checkpoint-files.js';
import { readCounts } from '../counts.js';
import { Checksum, type RecordPlace } from '../damage.js';
import {
  CATALOG,
  CHECKPOINTS,
  type DataDirectory,
  QUERY_LOG,
  checkpointPath,
  openDataDirectory,
  shardName,
  shardNames,
} from '../data-directory.js';
import { collectionOfKey } from '../keys.js';
import { PageWalk } from '../lmdb-file.js';
import { Environment } from '../lmdb.js';
import { SHARD_TABLES } from '../shard-reader.js';
import { ALL } from '../table.js';
import { type CollectionState, type ShardTables, inspectCollection } from './inspect-collection.js';

/** What `sheaf check` finds or `sheaf repair` does, for the operator. */
export interface Finding {
  /** Folder of the environment, such as `shard-0`. */
  environment: string;
  /** Tenant and name, or the number of one that the catalog does not know. */
  collection?: string;
  /** Document id, where it is known. */
  document?: string;
  what: string;
}

/** Tenant/name by id. */
export type CollectionNames = ReadonlyMap<CollectionId, string>;

export const nameOf = (names: CollectionNames, id: CollectionId): string => names.get(id) ?? `number ${id}`;

export function findingLine({ environment, collection, document, what }: Finding): string {
  const where = [
    environment,
    collection && `collection ${collection}`,
    document !== undefined && `document ${JSON.stringify(document)}`,
  ];
  return `${where.filter(Boolean).join(', ')}: ${what}`;
}

const NOTHING_LOST = 'a cache, which repair removes and the next start makes again';

/**
 * Looks at the checkpoints of shards: manifest, headers, and every region of every image. A damaged one loses nothing,
 * for it is a cache: the next start would tell, remove it and load all from the store. What belongs to no checkpoint is
 * what one that was cut off has left, and no damage.
 */
export function* checkCheckpoints({ path, shards }: DataDirectory): Generator<Finding> {
  for (let shard = 0; shard < shards; shard++) {
    const environment = join(CHECKPOINTS, shardName(shard));
    for (const what of damageIn(new CheckpointFiles(checkpointPath(path, shard)), shard))
      yield { environment, what: `${what} (${NOTHING_LOST})` };
  }
}

function* damageIn(files: CheckpointFiles, shard: number): Generator<string> {
  const manifest = attempt(() => files.readManifest());
  if (typeof manifest === 'string') return yield manifest;
  if (!manifest) return;
  if (manifest.shard !== shard) return yield `manifest: of shard ${manifest.shard}`;
  for (const entry of manifest.images) {
    const what = existsSync(files.pathOf(entry.file))
      ? attempt(() => readAll(files.pathOf(entry.file), manifest, entry))
      : 'it is missing';
    if (what !== undefined) yield `${entry.file}: ${what.replace(/^image: /, '')}`;
  }
}

function readAll(path: string, manifest: Manifest, entry: ImageEntry): undefined {
  const file = ImageFile.open(path, manifest, entry);
  const region = Buffer.alloc(REGION_BYTES);
  try {
    for (let n = 0; n < file.regions; n++) file.read(n, region.subarray(0, file.bytesOf(n)));
  } finally {
    file.close();
  }
}

/** What `work` answers; the message of damage, or of a disk that cannot be read. */
function attempt<T>(work: () => T): T | string {
  try {
    return work();
  } catch (error) {
    if (error instanceof DamagedCheckpoint) return error.message;
    const { syscall, code } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    return `it cannot be read (${code})`;
  }
}

interface PagesFound {
  /** What is wrong with the file itself: LMDB may not be let near it. */
  damage: string[];
  /** Records that do not fit their checksums. */
  records: RecordPlace[];
  /** Records that do, by table. */
  whole: Map<string, { key: Buffer; value: Buffer }[]>;
}

const DAMAGE_TOLD_MAX = 100;

/**
 * The first look at an environment: every page of its file, and every record's checksum. What it finds wrong with pages
 * is told at once; damaged records are handed on by table and key. `kept`: tables whose whole records are wanted.
 */
export function checkPages(dataDir: string, environment: string, kept: readonly string[] = []): PagesFound {
  const found: PagesFound = { damage: [], records: [], whole: new Map(kept.map((table) => [table, []])) };
  const path = join(dataDir, environment, 'data.mdb');
  if (!existsSync(path)) return { ...found, damage: ['its file is missing'] };
  const checksums = new Map<string, Checksum>();
  for (const entry of PageWalk.over(path)) {
    if ('damage' in entry) {
      if (found.damage.length < DAMAGE_TOLD_MAX) found.damage.push(entry.damage);
      continue;
    }
    const { table, key, sealed } = entry;
    const checksum = checksums.get(table) ?? new Checksum(environment, table);
    checksums.set(table, checksum);
    const value = checksum.valueIn(key, sealed);
    if (!value) found.records.push({ environment, table, key: Buffer.from(key) });
    else found.whole.get(table)?.push({ key, value });
  }
  return found;
}

const BY_COLLECTION = ['documents', 'members', 'chunks', 'texts', 'vectors'] as const;
const DOCUMENT_TABLES: ReadonlySet<string> = new Set(BY_COLLECTION);

/** Every collection that has anything here. */
export function collectionsIn(tables: ShardTables): CollectionId[] {
  const ids = new Set<CollectionId>();
  for (const table of BY_COLLECTION)
    for (const key of tables[table].keys(ALL)) if (key.length >= 4) ids.add(collectionOfKey(key));
  return [...ids].sort((a, b) => a - b);
}

/**
 * Looks at the records of a shard whose pages are whole: every collection in it, and the counts. What belongs to no
 * collection of the catalog is what a dropped one has left, and no damage.
 */
function* checkShard(environment: string, tables: ShardTables, names: CollectionNames): Generator<Finding> {
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
