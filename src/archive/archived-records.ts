// The records of an archive: documents with their chunks, and logged searches. The vectors of a document are float32,
// little-endian, a row for each chunk. Packed and unpacked by segment.ts.
import type { tags } from 'typia';

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

/** The numbers of the bytes, copied: those of a segment are not aligned. */
export function vectorsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
