// A document on its way between worker threads, cut into chunks and ready to embed and store. It travels as msgpack
// bytes, which the main thread does not decode. Pure functions.
import { Packr } from 'msgpackr';
import { ownBytes, unshared } from '../base/bytes.js';
import type { DocId } from '../api/ids.js';

/** A document cut into chunks, ready to be embedded and stored. */
export interface PreparedDocument {
  docid: DocId;
  ingestedAtMs: number;
  /** The document's metadata as JSON text: docid, filename and ingested_at, then the caller's keys. */
  metadataJson: string;
  /** Priority of the document, clamped to [-1, 1]; 0 for none. */
  priority: number;
  /** The version that the stored document must have for this one to replace it; 0: none must be stored. */
  ifVersion?: number;
  /** The second from which on the document is gone; absent if it does not expire. */
  expiresAtS?: number;
  chunks: PreparedChunk[];
}

export interface PreparedChunk {
  path: string;
  /** Chunk metadata as JSON text, such as `{"offset":800}`. */
  metaJson: string;
  /** Absent in vector documents. */
  text?: string;
}

/** Packed documents, one after the other, with a row of `vectors` for each of their chunks. */
export interface PackedDocuments {
  documents: Uint8Array;
  /** The end of each document in `documents`, in bytes. */
  ends: number[];
  /** The number of chunks of each document. */
  chunks: number[];
  vectors: Float32Array;
}

/** Stored documents for one shard, with their versions, in the form that `putShadow` takes. */
export interface DocumentBatch extends PackedDocuments {
  /** The place of the shard among those of the collection (api/placement). */
  slot: number;
  versions: number[];
}

const packr = new Packr({ useRecords: false });

/** Packs a document into a buffer that can be transferred to another thread. */
export const packDocument = (document: PreparedDocument): Uint8Array<ArrayBuffer> => ownBytes(packr.pack(document));

/** Unpacks bytes from `packDocument`. */
export const unpackDocument = (bytes: Uint8Array): PreparedDocument =>
  packr.unpack(unshared(bytes)) as PreparedDocument;

/** Concatenates the bytes of several `packDocument` calls. `ends` has the end of each document. */
export function joinDocuments(packed: readonly Uint8Array[]): { documents: Uint8Array<ArrayBuffer>; ends: number[] } {
  let end = 0;
  const ends = packed.map(({ length }) => (end += length));
  const documents = new Uint8Array(end);
  packed.forEach((bytes, i) => documents.set(bytes, ends[i - 1] ?? 0));
  return { documents, ends };
}

/** Unpacks the result of `joinDocuments`. */
export function unpackDocuments(bytes: Uint8Array, ends: readonly number[]): PreparedDocument[] {
  return ends.map((end, i) => unpackDocument(bytes.subarray(ends[i - 1] ?? 0, end)));
}
