// Keys of the LMDB tables. All numbers are big-endian, so that key order is number order and a collection is one range.
// The table of all keys is in docs/internals/lmdb.md.
import { createHash } from 'node:crypto';
import type { CollectionId, CollectionName, DocId, Ordinal, Tenant } from '../api/ids.js';
import { compareUtf8 } from '../base/bytes.js';

/** LMDB takes keys up to 511 bytes: a longer document id keeps this many bytes, then a separator and its SHA-256. */
const DOCID_PREFIX_BYTES = 440;
const DOCID_KEY_BYTES = 500;
const UTF8_BYTES_PER_UNIT_MAX = 3;

const u32 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

export const collectionPrefix = (id: CollectionId): Buffer => u32(id);

/** A zero byte cannot occur in a document id (no control characters), so long and short forms never collide. */
export function documentKey(id: CollectionId, docid: DocId | string): Buffer {
  const bytes = Buffer.from(docid);
  if (bytes.length <= DOCID_KEY_BYTES) return Buffer.concat([u32(id), bytes]);
  const digest = createHash('sha256').update(bytes).digest();
  return Buffer.concat([u32(id), bytes.subarray(0, DOCID_PREFIX_BYTES), Buffer.from([0]), digest]);
}

/**
 * The order of documents in the store: that of their keys, which is that of the ids' bytes but for ids of more than 500
 * bytes.
 */
export function compareDocumentKeys(a: string, b: string): number {
  if (Math.max(a.length, b.length) * UTF8_BYTES_PER_UNIT_MAX <= DOCID_KEY_BYTES) return compareUtf8(a, b);
  const anyId = 0 as CollectionId;
  return Buffer.compare(documentKey(anyId, a), documentKey(anyId, b));
}

export function chunkKey(id: CollectionId, ordinal: Ordinal): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(id, 0);
  key.writeUInt32BE(ordinal, 4);
  return key;
}

export const ordinalOfChunkKey = (key: Buffer): Ordinal => key.readUInt32BE(4) as Ordinal;

export const generationPrefix = (id: CollectionId, generation: number): Buffer =>
  Buffer.concat([u32(id), u32(generation)]);

export function vectorKey(id: CollectionId, generation: number, ordinal: Ordinal): Buffer {
  const key = Buffer.allocUnsafe(12);
  key.writeUInt32BE(id, 0);
  key.writeUInt32BE(generation, 4);
  key.writeUInt32BE(ordinal, 8);
  return key;
}

export const ordinalOfVectorKey = (key: Buffer): Ordinal => key.readUInt32BE(8) as Ordinal;
export const collectionOfKey = (key: Buffer): CollectionId => key.readUInt32BE(0) as CollectionId;

/** Slugs have no zero byte: the two parts stay apart. */
export const catalogKey = (tenant: Tenant, name: CollectionName): Buffer => Buffer.from(`${tenant}\0${name}`);
export const tenantKey = (tenant: Tenant): Buffer => Buffer.from(tenant);
/** Everything that is keyed by a tenant and something else: its collections, its keys. */
export const tenantPrefix = (tenant: Tenant): Buffer => Buffer.from(`${tenant}\0`);
export const accessKeyKey = (tenant: Tenant, keyId: string): Buffer => Buffer.from(`${tenant}\0${keyId}`);
export const settingKey = (name: string): Buffer => Buffer.from(name);
