// The records of the catalog and their encoding (a version byte, then msgpack), and operations on the catalog's tables
// inside a transaction. A record that does not decode to its shape throws DamagedRecord and is never served. Encoding
// and decoding: any thread. Operations on tables: the owner of shard 0 only.
import { Packr } from 'msgpackr';
import typia from 'typia';
import {
  type CollectionKey,
  type NewShadow,
  type PackedRecords,
  type ShadowRecord,
  type StoredCollection,
  type StoredJob,
  logIdOf,
} from './catalog-commands.js';
import type { AliasRecord } from '../api/aliases.js';
import { AppError } from '../api/errors.js';
import type { JudgementSet } from '../api/judgements.js';
import type { CollectionId } from '../api/ids.js';
import type { KeyRecord, TenantRecord } from '../api/tenants.js';
import { DamagedRecord } from './damage.js';
import { catalogKey, collectionPrefix, settingKey } from './keys.js';
import { RECORD_VERSION } from './records.js';
import { type Table, type Tables, wholeValues } from './table.js';

export const CATALOG_TABLES = [
  'collections',
  'settings',
  'tenants',
  'keys',
  'staged',
  'jobs',
  'aliases',
  'journal',
  'judgements',
] as const;
export type CatalogTable = (typeof CATALOG_TABLES)[number];

const packr = new Packr({ useRecords: false });
type PlainCollection = Omit<StoredCollection, 'id' | 'tenant' | 'name' | 'log_id'> & {
  id: number;
  tenant: string;
  name: string;
  log_id?: number;
};
const isCollection = typia.createIs<PlainCollection>();
const isShadow = typia.createIs<
  Omit<ShadowRecord, 'id' | 'collection' | 'replaces'> & {
    id: number;
    collection: PlainCollection;
    replaces: number | null;
  }
>();
const isJob = typia.createIs<Omit<StoredJob, 'log_id' | 'staged_id'> & { log_id: number; staged_id: number | null }>();
const isTenant = typia.createIs<Omit<TenantRecord, 'tenant'> & { tenant: string }>();
const isKey = typia.createIs<Omit<KeyRecord, 'tenant'> & { tenant: string }>();

const isJudgementSet = typia.createIs<JudgementSet>();

const isAlias = typia.createIs<{ tenant: string; alias: string; collection: string }>();

export const encodeCatalogRecord = (
  record: StoredCollection | ShadowRecord | StoredJob | TenantRecord | KeyRecord | AliasRecord | JudgementSet,
): Buffer => Buffer.concat([Buffer.from([RECORD_VERSION]), packr.pack(record)]);

/** A command of the catalog with its result, as the journal has them. */
export const packChange = (command: object, result: unknown): Buffer => packr.pack([command, result ?? null]);

/** The command in bytes from `packChange`. */
export const unpackChange = (bytes: Uint8Array): object => (packr.unpack(bytes) as [object, unknown])[0];

export const decodeCollection = (bytes: Buffer): StoredCollection =>
  decode(bytes, isCollection, 'collection') as StoredCollection;
/**
 * Decodes all collections of a catalog. Between threads a catalog travels in its stored form, which takes a fifth of
 * the time that its objects would.
 */
export function decodeCollections({ bytes, ends }: PackedRecords): StoredCollection[] {
  const records = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from(ends, (end, i) => decodeCollection(records.subarray(ends[i - 1] ?? 0, end)));
}

export const decodeShadow = (bytes: Buffer): ShadowRecord =>
  decode(bytes, isShadow, 'staged collection') as ShadowRecord;
export const decodeJob = (bytes: Buffer): StoredJob => decode(bytes, isJob, 'reindex job') as StoredJob;
export const decodeAlias = (bytes: Buffer): AliasRecord => decode(bytes, isAlias, 'alias') as AliasRecord;
export const decodeJudgementSet = (bytes: Buffer): JudgementSet =>
  decode(bytes, isJudgementSet, 'judgement set') as JudgementSet;
export const decodeTenant = (bytes: Buffer): TenantRecord => decode(bytes, isTenant, 'tenant') as TenantRecord;
export const decodeKey = (bytes: Buffer): KeyRecord => decode(bytes, isKey, 'key') as KeyRecord;

function decode(bytes: Buffer, fits: (value: unknown) => boolean, what: string): unknown {
  const value: unknown = bytes[0] === RECORD_VERSION ? packr.unpack(bytes.subarray(1)) : undefined;
  if (!fits(value)) throw new DamagedRecord(`catalog: a ${what} record does not decode`);
  return value;
}

// Operations on tables inside a transaction: assigning a collection id, checking that a collection is still what the
// caller found, and shadow collections.

export type CatalogTables = Tables<CatalogTable>;

const NEXT_ID = settingKey('next_collection_id');

/**
 * Assigns a collection id. Ids start at 1 and are never reused, so leftovers of a dropped collection can never appear
 * in a new one.
 */
export function nextId(settings: Table): CollectionId {
  const id = readNextId(settings);
  writeNextId(settings, id + 1);
  return id as CollectionId;
}

/** Ensures that no id below `least` is assigned from now on. */
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
 * The collection that has this name and id. Throws AppError `collection_not_found` if another request has renamed or
 * deleted it since the caller looked.
 */
export function present(collections: Table, { tenant, name, id }: CollectionKey): StoredCollection {
  const bytes = collections.get(catalogKey(tenant, name));
  const collection = bytes && decodeCollection(bytes);
  if (collection?.id !== id) throw new AppError('collection_not_found');
  return collection;
}

/** Deletes the judgement sets of a collection that is deleted. */
export function removeJudgements({ judgements }: CatalogTables, collection: StoredCollection): void {
  for (const key of [...judgements.keys(collectionPrefix(logIdOf(collection)))]) judgements.delete(key);
}

/** Creates a shadow collection and gives it an id. */
export function stageIn({ staged: shadow, settings }: CatalogTables, wanted: NewShadow): ShadowRecord {
  const id = nextId(settings);
  const record: ShadowRecord = { ...wanted, id, collection: { ...wanted.collection, id } };
  putShadow(shadow, record);
  return record;
}

/**
 * All shadow collections. Damaged ones are left out and thereby given up, since a shadow collection is never the only
 * copy of its documents.
 */
export const allShadows = (shadow: Table): ShadowRecord[] => Array.from(wholeValues(shadow), decodeShadow);
export const putShadow = (shadow: Table, record: ShadowRecord): void =>
  shadow.put(collectionPrefix(record.id), encodeCatalogRecord(record));
export const removeShadow = (shadow: Table, id: CollectionId): boolean => shadow.delete(collectionPrefix(id));

/** The shadow collections that depend on the given collections. Those of a restore do not depend on any. */
export const besides = (shadow: Table, ids: ReadonlySet<CollectionId>): ShadowRecord[] =>
  allShadows(shadow).filter(({ replaces, purpose }) => replaces !== null && ids.has(replaces) && purpose !== 'restore');
