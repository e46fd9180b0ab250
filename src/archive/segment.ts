// The records in the segments of an archive: documents with their chunks, and logged searches, in msgpack, one behind
// the other. The vectors of a document are float32, little-endian, a row for each chunk. Pure; used by the archive
// process and the import.
import { Packr, Unpackr } from 'msgpackr';
import typia, { type tags } from 'typia';
import { asDocId } from '../contract/ids.js';
import { ArchiveFault } from './archive-fault.js';

/** A segment is full when it has so much; a document larger than that has one for itself. */
export const SEGMENT_BYTES = 4 * 1024 * 1024;
/** No reader takes a larger one: the largest document, with its vectors. */
export const SEGMENT_BYTES_MAX = 2 ** 31 - 1;

export interface ArchivedChunk {
  path: string & tags.MinLength<1>;
  /** Chunk metadata as JSON text. */
  meta: string;
  /** Absent for chunks of vector documents. */
  text?: string;
}

export interface ArchivedDocument {
  docid: string;
  version: number & tags.Type<'uint32'> & tags.Minimum<1>;
  /** Milliseconds since 1970. */
  ingested_at_ms: number & tags.Type<'uint64'>;
  /** The document's metadata as JSON text. */
  metadata: string;
  priority: number & tags.Minimum<-1> & tags.Maximum<1>;
  chunks: ArchivedChunk[] & tags.MinItems<1>;
  vectors: Uint8Array;
}

/** `record` is the server's own encoding of a logged search. */
export interface ArchivedQuery {
  id: Uint8Array;
  record: Uint8Array;
}

const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false });
const isDocument = typia.createIs<ArchivedDocument>();
const isQuery = typia.createIs<ArchivedQuery>();

export const packDocument = (document: ArchivedDocument): Buffer => packr.pack(document);
export const packQuery = (query: ArchivedQuery): Buffer => packr.pack(query);

/** The documents of a segment, checked; their vectors are views of `bytes`. Throws ArchiveFault. */
export function unpackDocuments(bytes: Uint8Array, dim: number): ArchivedDocument[] {
  return unpacked(bytes).map((value, place) => {
    const why = !isDocument(value) ? 'it has a wrong shape' : faultOf(value, dim);
    if (why !== undefined)
      throw new ArchiveFault('document_invalid', `A document (${place} of its segment) is invalid: ${why}.`);
    return value as ArchivedDocument;
  });
}

/** The logged searches of a segment; what is in their records is checked by the store. Throws ArchiveFault. */
export function unpackQueries(bytes: Uint8Array): ArchivedQuery[] {
  return unpacked(bytes).map((value) => {
    if (!isQuery(value) || value.id.length !== 16)
      throw new ArchiveFault('query_invalid', 'A logged search has a wrong shape.');
    return value;
  });
}

function unpacked(bytes: Uint8Array): unknown[] {
  try {
    return unpackr.unpackMultiple(bytes as Buffer) as unknown[];
  } catch {
    throw new ArchiveFault('document_invalid', 'A segment is no msgpack.');
  }
}

function faultOf({ docid, metadata, chunks, vectors }: ArchivedDocument, dim: number): string | undefined {
  if (!isDocId(docid)) return 'its id is none';
  if (!isJsonObject(metadata)) return 'its metadata is no JSON object';
  if (vectors.length !== chunks.length * dim * 4)
    return `${chunks.length} chunks of ${dim} dimensions have ${vectors.length} bytes of vectors`;
  if (new Set(chunks.map(({ path }) => path)).size !== chunks.length) return 'two of its chunks have one path';
  if (!chunks.every(({ meta }) => isJsonObject(meta))) return 'metadata of a chunk is no JSON object';
  return vectorsOf(vectors).every(Number.isFinite) ? undefined : 'a vector is not finite';
}

function isDocId(docid: string): boolean {
  try {
    return asDocId(docid) === docid;
  } catch {
    return false;
  }
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** The numbers of the bytes, copied: those of a segment are not aligned. */
export function vectorsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
