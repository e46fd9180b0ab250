// A document between the workers: made by the batch worker, read by the embed worker and by the owner of its shard. It
// travels as msgpack bytes that the front thread never opens. Pure.
import { Packr } from 'msgpackr';
import { ownBytes, unshared } from '../base/bytes.js';
import type { DocId } from '../api/ids.js';

/** A document cut into chunks, ready to embed and to store. */
export interface PreparedDocument {
  docid: DocId;
  ingestedAtMs: number;
  /** JSON text of the document's metadata: docid, filename, ingested_at, then the caller's keys. */
  metadataJson: string;
  /** Priority of the document, clamped to [-1, 1]; 0 for none. */
  priority: number;
  chunks: PreparedChunk[];
}

export interface PreparedChunk {
  path: string;
  /** Chunk metadata as JSON text, such as `{"offset":800}`. */
  metaJson: string;
  /** Absent for vector documents. */
  text?: string;
}

/** Documents packed one behind the other, with a row of `vectors` for each of their chunks. */
export interface PackedDocuments {
  documents: Uint8Array;
  /** Where in `documents` each one ends. */
  ends: number[];
  /** How many chunks each one has. */
  chunks: number[];
  vectors: Float32Array;
}

const packr = new Packr({ useRecords: false });

/** The bytes of a document, in a buffer that can be moved to another thread. */
export const packDocument = (document: PreparedDocument): Uint8Array<ArrayBuffer> => ownBytes(packr.pack(document));

/** Requires bytes of packDocument. */
export const unpackDocument = (bytes: Uint8Array): PreparedDocument =>
  packr.unpack(unshared(bytes)) as PreparedDocument;

/** Bytes of packDocument one behind the other; `ends` says where each one ends. */
export function joinDocuments(packed: readonly Uint8Array[]): { documents: Uint8Array<ArrayBuffer>; ends: number[] } {
  let end = 0;
  const ends = packed.map(({ length }) => (end += length));
  const documents = new Uint8Array(end);
  packed.forEach((bytes, i) => documents.set(bytes, ends[i - 1] ?? 0));
  return { documents, ends };
}

/** What joinDocuments has made. */
export function unpackDocuments(bytes: Uint8Array, ends: readonly number[]): PreparedDocument[] {
  return ends.map((end, i) => unpackDocument(bytes.subarray(ends[i - 1] ?? 0, end)));
}
