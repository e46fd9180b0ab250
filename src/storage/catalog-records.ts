// The records of the catalog and their bytes: a version byte, then the record in msgpack. One that does not decode to
// its shape is damage: it is told, never served. Used by the stores of this folder that share the catalog's
// environment.
import { Packr } from 'msgpackr';
import typia from 'typia';
import type { PackedRecords } from '../contract/catalog-commands.js';
import type { StoredJob } from '../contract/reindex.js';
import type { StoredCollection } from '../contract/resources.js';
import type { StagedRecord } from '../contract/staged.js';
import type { KeyRecord, TenantRecord } from '../contract/tenants.js';
import { DamagedRecord } from './damage.js';
import { RECORD_VERSION } from './records.js';

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
