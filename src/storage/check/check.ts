// `sheaf check`: examines everything that a stopped server keeps, and reports damage. It first walks the pages of each
// environment without the library, then, if the pages are intact, compares the records with each other, and at last
// reads the checkpoints. It only reads. Runs in a process of its own.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CollectionId } from '../../api/ids.js';
import type { ShadowPurpose, StoredCollection } from '../catalog-commands.js';
import { CATALOG_TABLES, type CatalogTable, decodeCollection, decodeShadow } from '../catalog-records.js';
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
  checkpointPath,
  openDataDirectory,
  shardName,
  shardNames,
  storedLogs,
} from '../data-directory.js';
import { journalDamage } from '../journal.js';
import { collectionOfKey } from '../keys.js';
import { PageScan } from '../lmdb-file.js';
import { Environment } from '../lmdb.js';
import { SHARD_TABLES } from '../shard-reader.js';
import { ALL, type Table, type Tables } from '../table.js';
import { type CollectionState, type ShardTables, inspectCollection } from './inspect-collection.js';

/** A finding of `sheaf check`, or an action of `sheaf repair`, for the operator. */
export interface Finding {
  /** Folder of the environment, such as `shard-0`. */
  environment: string;
  /** Tenant and name; the id if the catalog does not have the collection. */
  collection?: string;
  /** Document id, if it is known. */
  document?: string;
  what: string;
}

/** `tenant/name` by collection id. */
export type CollectionNames = ReadonlyMap<CollectionId, string>;

export const nameOf = (names: CollectionNames, id: CollectionId): string => names.get(id) ?? `number ${id}`;

/** A finding as a line of output. */
export function findingLine({ environment, collection, document, what }: Finding): string {
  const where = [
    environment,
    collection && `collection ${collection}`,
    document !== undefined && `document ${JSON.stringify(document)}`,
  ];
  return `${where.filter(Boolean).join(', ')}: ${what}`;
}

const NOTHING_LOST = 'a cache: repair removes it, and the next start builds it again';

/**
 * Checks the checkpoints of all shards: manifest, headers, and every region of every image. A damaged checkpoint loses
 * nothing, since it is a cache: the next start would log it, remove it and load everything from the store. Files of no
 * checkpoint are left from an interrupted one and are not damage.
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
  if (manifest.shard !== shard) return yield `manifest: belongs to shard ${manifest.shard}`;
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

/** The result of `work`, or the message of its error if a checkpoint is damaged or a file cannot be read. */
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
  /** Damage of the file itself. LMDB must not open such a file. */
  damage: string[];
  /** Records whose checksums do not fit. */
  records: RecordPlace[];
  /** Records with valid checksums, by table. */
  whole: Map<string, { key: Buffer; value: Buffer }[]>;
}

const DAMAGE_SHOWN_MAX = 100;

/**
 * First pass over an environment: every page of its file, and the checksum of every record. `kept`: tables whose intact
 * records are returned.
 */
export function checkPages(dataDir: string, environment: string, kept: readonly string[] = []): PagesFound {
  const found: PagesFound = { damage: [], records: [], whole: new Map(kept.map((table) => [table, []])) };
  const path = join(dataDir, environment, 'data.mdb');
  if (!existsSync(path)) return { ...found, damage: ['its file is missing'] };
  const checksums = new Map<string, Checksum>();
  for (const entry of PageScan.over(path)) {
    if ('damage' in entry) {
      if (found.damage.length < DAMAGE_SHOWN_MAX) found.damage.push(entry.damage);
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

/** Every collection that has any record here, in ascending order. */
export function collectionsIn(tables: ShardTables): CollectionId[] {
  const ids = new Set<CollectionId>();
  for (const table of BY_COLLECTION)
    for (const key of tables[table].keys(ALL)) if (key.length >= 4) ids.add(collectionOfKey(key));
  return [...ids].sort((a, b) => a - b);
}

/**
 * Checks the records of a shard whose pages are intact: every collection, and its counts. Records that belong to no
 * collection of the catalog are left from a dropped one and are not damage.
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
        yield { environment, collection, what: `${keys.length} ${table} belong to no intact document` };
    // The entries of damaged documents are still in the index.
    if (!state.areExpiriesRight && state.broken.length === 0)
      yield { environment, collection, what: 'the index of expiring documents is wrong; repair makes it again' };
    const wrong = wrongCounts(tables, state);
    if (wrong) yield { environment, collection, what: wrong };
  }
}

function wrongCounts(tables: ShardTables, { id, documents, chunks, broken }: CollectionState): string | undefined {
  try {
    const counted = readCounts(tables.counts, id);
    // Damaged documents are still included in the counts.
    if (broken.length > 0 || (counted.documents === documents && counted.chunks === chunks)) return undefined;
    return `it counts ${counted.documents} documents and ${counted.chunks} chunks, but has ${documents} and ${chunks}`;
  } catch {
    return 'its counts are damaged; the next start computes them again';
  }
}

/** Checks a data directory. Throws DataDirectoryError if it is not one, or a server uses it. */
export async function* checkDirectory(path: string): AsyncGenerator<Finding> {
  const directory = await openDataDirectory(path);
  try {
    yield* findings(directory);
  } finally {
    directory.release();
  }
}

function* findings(directory: DataDirectory): Generator<Finding> {
  const catalog = checkPages(directory.path, CATALOG, NAMING_TABLES);
  yield* told(CATALOG, catalog);
  if (catalog.damage.length === 0)
    yield* inEnvironment(directory, CATALOG, CATALOG_TABLES, (tables) => checkJournal(CATALOG, tables));
  const names = namesIn(catalog);
  for (const environment of shardNames(directory.shards)) yield* findingsInShard(directory, environment, names);
  for (const environment of storedLogs(directory.path))
    yield* told(environment, checkPages(directory.path, environment));
  yield* checkCheckpoints(directory);
}

function* findingsInShard(directory: DataDirectory, environment: string, names: CollectionNames): Generator<Finding> {
  const pages = checkPages(directory.path, environment);
  // Damaged records that belong to documents are reported with their document by `checkShard`.
  if (pages.damage.length > 0) return yield* told(environment, pages);
  yield* told(environment, { ...pages, records: pages.records.filter(({ table }) => !DOCUMENT_TABLES.has(table)) });
  yield* inEnvironment(directory, environment, SHARD_TABLES, function* (tables) {
    yield* checkShard(environment, tables, names);
    yield* checkJournal(environment, tables);
  });
}

function inEnvironment<Names extends string>(
  { path }: DataDirectory,
  environment: string,
  names: readonly Names[],
  check: (tables: Tables<Names>) => Iterable<Finding>,
): Finding[] {
  const env = Environment.open(join(path, environment), names, false);
  try {
    return env.read((tables) => [...check(tables)]);
  } finally {
    env.close();
  }
}

function* checkJournal(environment: string, { journal }: { journal: Table }): Generator<Finding> {
  const damage = journalDamage(journal);
  if (damage !== undefined)
    yield {
      environment,
      what: `the journal is damaged: ${damage.replace(/^journal: /, '')} (the data is not affected; repair deletes the journal)`,
    };
}

/** The tables of the catalog that `namesIn` needs. */
export const NAMING_TABLES: readonly CatalogTable[] = ['collections', 'staged'];

const SHADOWS: Readonly<Record<ShadowPurpose, string>> = {
  reindex: 'as it is being reindexed',
  spread: 'as it is being spread',
  restore: 'as it is being restored',
  previous: 'as it was before',
};

/** `tenant/name` by id, of the collections whose records are intact; a shadow collection has what it is added. */
export function namesIn({ whole }: PagesFound): CollectionNames {
  const [collections = [], shadows = []] = NAMING_TABLES.map((table) =>
    (whole.get(table) ?? []).map(({ value }) => value),
  );
  const name = (one: StoredCollection): string => `${one.tenant}/${one.name}`;
  return new Map([
    ...collections.map(decodeCollection).map((one): [CollectionId, string] => [one.id, name(one)]),
    ...shadows
      .map(decodeShadow)
      .map((one): [CollectionId, string] => [one.id, `${name(one.collection)} ${SHADOWS[one.purpose]}`]),
  ]);
}

function* told(environment: string, { damage, records }: PagesFound): Generator<Finding> {
  for (const what of damage) yield { environment, what };
  for (const { table, key } of records)
    yield { environment, what: `a record of table ${table} is damaged, key ${printable(key)}` };
}

/** A key as text if it is printable, otherwise in hexadecimal. */
export function printable(key: Buffer): string {
  const text = key.toString('utf8').replace('\0', '/');
  return /^[\w/.-]+$/.test(text) ? text : key.toString('hex');
}
