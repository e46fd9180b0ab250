// The records of a shard in LMDB and their encoding (msgpack arrays after a version byte), and the metadata that a
// client sees on a chunk. A record that does not decode to its shape throws DamagedRecord and is never served. Pure
// functions.
import { Packr, RESERVE_START_SPACE } from 'msgpackr';
import type { DocId } from '../api/ids.js';
import { DamagedRecord } from './damage.js';

/**
 * The metadata that a client sees on a chunk: the document's, overlaid by the chunk's own (offset, page, row). Both
 * arguments are JSON texts of objects; they are joined as text without parsing unless a key may occur in both.
 */
export function mergedMetaJson(documentJson: string, chunkJson: string): string {
  if (chunkJson === '{}') return documentJson;
  const chunk = JSON.parse(chunkJson) as Record<string, unknown>;
  const mayCollide = Object.keys(chunk).some((key) => documentJson.includes(JSON.stringify(key)));
  if (mayCollide) return overlaid(documentJson, chunk) ?? joinedJson(documentJson, chunkJson);
  return joinedJson(documentJson, chunkJson);
}

const joinedJson = (documentJson: string, chunkJson: string): string =>
  documentJson === '{}' ? chunkJson : `${documentJson.slice(0, -1)},${chunkJson.slice(1)}`;

/**
 * Returns undefined for metadata that is nested too deeply to be serialized, which a restored archive may contain. The
 * texts are then joined, so a key may occur twice, and parsers take the second one.
 */
function overlaid(documentJson: string, chunk: Record<string, unknown>): string | undefined {
  try {
    return JSON.stringify({ ...(JSON.parse(documentJson) as object), ...chunk });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export const RECORD_VERSION = 1;

/** One version of a document, without its chunks. */
export interface DocumentRecord {
  docid: DocId;
  version: number;
  ingestedAtMs: number;
  metadataJson: string;
  /** In [-1, 1]; 0 means none. */
  priority: number;
  chunkCount: number;
  /** The second from which on the document is gone, since 1970; 0 for a document that does not expire. */
  expiresAtS: number;
}

/** The chunks of a document in order: the ordinal and the path of each. */
export interface MembersRecord {
  ordinals: number[];
  paths: string[];
}

export interface ChunkRecord {
  docid: DocId;
  path: string;
  /** Index of the chunk in its document. */
  index: number;
  metaJson: string;
}

const packr = new Packr({ useRecords: false });

/** Encodes fields as a record with a version byte. */
export function encode(fields: unknown[]): Buffer {
  const bytes = packr.pack(fields, RESERVE_START_SPACE + 1);
  bytes[0] = RECORD_VERSION;
  return bytes;
}

/**
 * Decodes the fields of a record. Throws DamagedRecord unless they have the given types (as by `typeof`, or `array`);
 * the last `optional` fields may be absent. `what` names the record in the error.
 */
export function decode(bytes: Buffer, types: readonly string[], what: string, optional = 0): unknown[] {
  if (bytes[0] !== RECORD_VERSION) throw new DamagedRecord(`${what}: record version ${bytes[0]}`);
  let fields: unknown;
  try {
    fields = packr.unpack(bytes.subarray(1));
  } catch {
    throw new DamagedRecord(`${what}: not msgpack`);
  }
  const fits =
    Array.isArray(fields) &&
    fields.length >= types.length - optional &&
    fields.length <= types.length &&
    fields.every((field, i) => typeOf(field) === types[i]);
  if (!fits) throw new DamagedRecord(`${what}: wrong shape`);
  return fields as unknown[];
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** The record of a document that does not expire is as before there were expiries. */
export function encodeDocument(record: DocumentRecord): Buffer {
  return encode([
    record.docid,
    record.version,
    record.ingestedAtMs,
    record.metadataJson,
    record.priority,
    record.chunkCount,
    ...(record.expiresAtS === 0 ? [] : [record.expiresAtS]),
  ]);
}

export function decodeDocument(bytes: Buffer): DocumentRecord {
  const types = ['string', 'number', 'number', 'string', 'number', 'number', 'number'];
  const fields = decode(bytes, types, 'document', 1);
  const [docid, version, ingestedAtMs, metadataJson, priority, chunkCount, expiresAtS = 0] = fields as [
    DocId,
    number,
    number,
    string,
    number,
    number,
    number?,
  ];
  return { docid, version, ingestedAtMs, metadataJson, priority, chunkCount, expiresAtS };
}

export const encodeMembers = (record: MembersRecord): Buffer => encode([record.ordinals, record.paths]);

export function decodeMembers(bytes: Buffer): MembersRecord {
  const [ordinals, paths] = decode(bytes, ['array', 'array'], 'members') as [number[], string[]];
  return { ordinals, paths };
}

export const encodeChunk = (record: ChunkRecord): Buffer =>
  encode([record.docid, record.path, record.index, record.metaJson]);

export function decodeChunk(bytes: Buffer): ChunkRecord {
  const [docid, path, index, metaJson] = decode(bytes, ['string', 'string', 'number', 'string'], 'chunk') as [
    DocId,
    string,
    number,
    string,
  ];
  return { docid, path, index, metaJson };
}

export const encodeVector = (vector: Float32Array): Buffer =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);

/** Decodes a copy, because LMDB's bytes are not aligned. */
export function decodeVector(bytes: Buffer): Float32Array {
  if (bytes.length === 0 || bytes.length % 4 !== 0) throw new DamagedRecord('vector: wrong length');
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
