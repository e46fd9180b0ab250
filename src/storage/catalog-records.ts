// The records of the catalog and their bytes: a version byte, then the record in msgpack. One that does not decode to
// its shape is damage: it is told, never served. And what is done with the tables of the catalog inside any transaction
// of it. The owner of shard 0 alone.
import { Packr } from 'msgpackr';
import typia from 'typia';
import type {
  CollectionKey,
  NewStaged,
  PackedRecords,
  StagedRecord,
  StoredCollection,
  StoredJob,
} from './catalog-commands.js';
import { AppError } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type { KeyRecord, TenantRecord } from '../api/tenants.js';
import { DamagedRecord } from './damage.js';
import { catalogKey, collectionPrefix, settingKey } from './keys.js';
import { RECORD_VERSION } from './records.js';
import { type Table, type Tables, wholeValues } from './table.js';

export const CATALOG_TABLES = ['collections', 'settings', 'tenants', 'keys', 'staged', 'jobs'] as const;
export type CatalogTable = (typeof CATALOG_TABLES)[number];

const packr = new Packr({ useRecords: false });
type PlainCollection = Omit<StoredCollection, 'id' | 'tenant' | 'name' | 'log_id'> & {
  id: number;
  tenant: string;
  name: string;
  log_id?: number;
};
const isCollection = typia.createIs<PlainCollection>();
const isStaged = typia.createIs<
  Omit<StagedRecord, 'id' | 'collection' | 'replaces'> & {
    id: number;
    collection: PlainCollection;
    replaces: number | null;
  }
>();
const isJob = typia.createIs<Omit<StoredJob, 'log_id' | 'staged_id'> & { log_id: number; staged_id: number | null }>();
const isTenant = typia.createIs<Omit<TenantRecord, 'tenant'> & { tenant: string }>();
const isKey = typia.createIs<Omit<KeyRecord, 'tenant'> & { tenant: string }>();

export const encodeCatalogRecord = (
  record: StoredCollection | StagedRecord | StoredJob | TenantRecord | KeyRecord,
): Buffer => Buffer.concat([Buffer.from([RECORD_VERSION]), packr.pack(record)]);

export const decodeCollection = (bytes: Buffer): StoredCollection =>
  decode(bytes, isCollection, 'collection') as StoredCollection;
/**
 * Of a whole catalog; it travels between threads as the store has it, which takes a fifth of what its objects would.
 */
export function decodeCollections({ bytes, ends }: PackedRecords): StoredCollection[] {
  const records = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from(ends, (end, i) => decodeCollection(records.subarray(ends[i - 1] ?? 0, end)));
}

export const decodeStaged = (bytes: Buffer): StagedRecord =>
  decode(bytes, isStaged, 'staged collection') as StagedRecord;
export const decodeJob = (bytes: Buffer): StoredJob => decode(bytes, isJob, 'reindex job') as StoredJob;
export const decodeTenant = (bytes: Buffer): TenantRecord => decode(bytes, isTenant, 'tenant') as TenantRecord;
export const decodeKey = (bytes: Buffer): KeyRecord => decode(bytes, isKey, 'key') as KeyRecord;

function decode(bytes: Buffer, fits: (value: unknown) => boolean, what: string): unknown {
  const value: unknown = bytes[0] === RECORD_VERSION ? packr.unpack(bytes.subarray(1)) : undefined;
  if (!fits(value)) throw new DamagedRecord(`catalog: a ${what} record does not decode`);
  return value;
}

// What is done with the tables inside a transaction: the next collection id, a collection that is still what the caller
// found, what is staged beside one.

export type CatalogTables = Tables<CatalogTable>;

const NEXT_ID = settingKey('next_collection_id');

/** Ids start at 1, are never reused, and so a dropped collection's leftovers can never show in a new one. */
export function nextId(settings: Table): CollectionId {
  const id = readNextId(settings);
  writeNextId(settings, id + 1);
  return id as CollectionId;
}

/** No id below `least` is given from now on. */
export function raiseNextId(settings: Table, least: number): void {
  writeNextId(settings, Math.max(least, readNextId(settings)));
}

const readNextId = (settings: Table): number => settings.get(NEXT_ID)?.readUInt32BE() ?? 1;

function writeNextId(settings: Table, id: number): void {
  const next = Buffer.alloc(4);
  next.writeUInt32BE(id);
  settings.put(NEXT_ID, next);
}

/**
 * The collection that still has this name and id: another request may have renamed or deleted it since the caller
 * looked.
 */
export function present(collections: Table, { tenant, name, id }: CollectionKey): StoredCollection {
  const bytes = collections.get(catalogKey(tenant, name));
  const collection = bytes && decodeCollection(bytes);
  if (collection?.id !== id) throw new AppError('collection_not_found');
  return collection;
}

/** Gives what is to be staged its id. */
export function stageIn({ staged, settings }: CatalogTables, wanted: NewStaged): StagedRecord {
  const id = nextId(settings);
  const record: StagedRecord = { ...wanted, id, collection: { ...wanted.collection, id } };
  putStaged(staged, record);
  return record;
}

/** Without those that are damaged: what is staged is never all there is of anything, so it is given up. */
export const allStaged = (staged: Table): StagedRecord[] => Array.from(wholeValues(staged), decodeStaged);
export const putStaged = (staged: Table, record: StagedRecord): void =>
  staged.put(collectionPrefix(record.id), encodeCatalogRecord(record));
export const removeStaged = (staged: Table, id: CollectionId): boolean => staged.delete(collectionPrefix(id));

/** What is staged beside collections and is nothing without them. What is restored stands for itself. */
export const besides = (staged: Table, ids: ReadonlySet<CollectionId>): StagedRecord[] =>
  allStaged(staged).filter(({ replaces, purpose }) => replaces !== null && ids.has(replaces) && purpose !== 'restore');
