// The messages of one document on its way through a batch worker: the body that came, how it is prepared, what is made
// of it. Types only; plain data between the front thread and the workers, as in messages.ts.
import type { DocId } from './ids.js';
import type { Collection, Space } from './resources.js';

/** The query parameters for CSV and TSV files. The lists are as they were sent; '' is absent. */
export interface CsvOptions {
  header: 'auto' | 'yes' | 'no';
  metaColumns: string;
  includeColumns: string;
}

/** An uploaded file: its bytes, or the path of the temporary file that holds them. */
export type UploadedFile = {
  kind: 'file';
  name: string;
  type: string;
  docid: string;
  metadata: string;
  csv: CsvOptions;
} & ({ bytes: Uint8Array } | { path: string });

/** Given to each batch worker when it starts. */
export interface BatchWorkerStart {
  /** Bound of the text of one file, and of what it unpacks to. */
  textBytesMax: number;
  /**
   * Bound of the memory that reading one page of a file takes beside the heap, which is bounded by the thread itself.
   */
  memoryBytesMax: number;
}

/** What comes with every task: where the thread tells what it takes (base/memory-report). */
export interface Reported {
  report: SharedArrayBuffer;
}

export interface PrepareRequest {
  body: { kind: 'json'; bytes: Uint8Array } | UploadedFile;
  space: Space;
  chunking: Collection['chunking'];
  priorityKey: string;
  nowMs: number;
  metadataBytesMax: number;
  /** Whether the texts of the chunks are to be told apart by their digests. */
  withDigests?: boolean;
}

export interface PrepareAnswer {
  docid: DocId;
  chunks: number;
  document: Uint8Array;
  /** The vectors, where the caller gave them; else they are to be embedded. */
  vectors?: Float32Array;
  /** A digest for each chunk, where they are asked for and the chunks have texts. */
  digests?: Uint8Array;
}
