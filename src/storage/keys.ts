// Keys of the LMDB tables. All numbers are big-endian, so key order is numeric order and a collection is one contiguous
// range. docs/internals/lmdb.md lists all keys.
import { createHash } from 'node:crypto';
import type { CollectionId, CollectionName, DocId, Ordinal, Tenant } from '../api/ids.js';
import { compareUtf8 } from '../base/bytes.js';

/**
 * LMDB keys have at most 511 bytes. A document id of more than 500 bytes is cut to this many, followed by a separator
 * and its SHA-256.
 */
const DOCID_PREFIX_BYTES = 440;
const DOCID_KEY_BYTES = 500;
const UTF8_BYTES_PER_UNIT_MAX = 3;

export const u32 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

export const collectionPrefix = (id: CollectionId): Buffer => u32(id);

/** A document id has no control characters, so the zero byte keeps long and short forms apart. */
export function documentKey(id: CollectionId, docid: DocId | string): Buffer {
  const bytes = Buffer.from(docid);
  if (bytes.length <= DOCID_KEY_BYTES) return Buffer.concat([u32(id), bytes]);
  const digest = createHash('sha256').update(bytes).digest();
  return Buffer.concat([u32(id), bytes.subarray(0, DOCID_PREFIX_BYTES), Buffer.from([0]), digest]);
}

/**
 * Compares documents in the order of their keys, which is the byte order of their ids, except for ids of more than 500
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

/** Slugs have no zero byte, so it separates the two parts. */
export const catalogKey = (tenant: Tenant, name: CollectionName): Buffer => Buffer.from(`${tenant}\0${name}`);
export const tenantKey = (tenant: Tenant): Buffer => Buffer.from(tenant);
/** Prefix of everything that is keyed by a tenant and something else: its collections, its access keys. */
export const tenantPrefix = (tenant: Tenant): Buffer => Buffer.from(`${tenant}\0`);
export const accessKeyKey = (tenant: Tenant, keyId: string): Buffer => Buffer.from(`${tenant}\0${keyId}`);
/** Prefix of a collection's judgement sets, and the name of a set. */
export const judgementsKey = (log: CollectionId, set: string): Buffer => Buffer.concat([u32(log), Buffer.from(set)]);
export const settingKey = (name: string): Buffer => Buffer.from(name);
