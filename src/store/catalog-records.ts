// The records of the catalog and their bytes: a version byte, then the record in msgpack. One that does not decode to its
// shape is damage: it is told, never served. Used by the stores of this folder that share the catalog's environment.
import { Packr } from 'msgpackr';
import typia from 'typia';
import type { PackedRecords } from '../contract/messages.js';
import type { StoredCollection } from '../contract/resources.js';
import type { KeyRecord, TenantRecord } from '../contract/tenants.js';
import { DamagedRecord, RECORD_VERSION } from './records.js';

export const CATALOG_TABLES = ['collections', 'settings', 'tenants', 'keys'] as const;
export type CatalogTable = (typeof CATALOG_TABLES)[number];

const packr = new Packr({ useRecords: false });
const isCollection = typia.createIs<Omit<StoredCollection, 'id' | 'tenant' | 'name'> & { id: number; tenant: string; name: string }>();
const isTenant = typia.createIs<Omit<TenantRecord, 'tenant'> & { tenant: string }>();
const isKey = typia.createIs<Omit<KeyRecord, 'tenant'> & { tenant: string }>();

export const encodeCatalogRecord = (record: StoredCollection | TenantRecord | KeyRecord): Buffer => Buffer.concat([Buffer.from([RECORD_VERSION]), packr.pack(record)]);

export const decodeCollection = (bytes: Buffer): StoredCollection => decode(bytes, isCollection, 'collection') as StoredCollection;
/** Of a whole catalog; it travels between threads as the store has it, which takes a fifth of what its objects would. */
export function decodeCollections({ bytes, ends }: PackedRecords): StoredCollection[] {
  const records = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from(ends, (end, i) => decodeCollection(records.subarray(ends[i - 1] ?? 0, end)));
}

export const decodeTenant = (bytes: Buffer): TenantRecord => decode(bytes, isTenant, 'tenant') as TenantRecord;
export const decodeKey = (bytes: Buffer): KeyRecord => decode(bytes, isKey, 'key') as KeyRecord;

function decode(bytes: Buffer, fits: (value: unknown) => boolean, what: string): unknown {
  const value: unknown = bytes[0] === RECORD_VERSION ? packr.unpack(bytes.subarray(1)) : undefined;
  if (!fits(value)) throw new DamagedRecord(`catalog: a ${what} record does not decode`);
  return value;
}
