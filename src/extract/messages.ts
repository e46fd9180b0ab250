// The messages of one document on its way through a batch worker: the body that came, how it is prepared, what is made
// of it; and of a batch, cut into slices of lines and prepared in groups by shard. Plain data between the front thread
// and the workers. Types only.
import type { Collection, Space } from '../api/collections.js';
import type { WireError } from '../api/errors.js';
import type { DocId } from '../api/ids.js';
import type { PackedDocuments } from '../text/prepared-document.js';

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

/** What comes with every task: where the thread reports the memory it takes (`reportMemory` of src/base/thread.ts). */
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

/** A batch body (`{"documents":[…]}`) to cut into slices of lines. Its bytes are moved. */
export interface SplitBatchRequest {
  bytes: Uint8Array;
  itemsMax: number;
}

/** Items of a batch, one JSON text a line, none of them blank. */
export interface LineSlice {
  bytes: Uint8Array;
  lines: number;
}

export interface PrepareLinesRequest extends Omit<PrepareRequest, 'body'> {
  bytes: Uint8Array;
  shards: number;
  /** Whether a line that is no JSON is an item that failed, or refuses the whole batch with `invalid_json`. */
  malformed: 'item' | 'batch';
}

/** An item as far as preparing it went. */
export type PreparedItem = { docid: DocId; chunks: number } | { docid?: DocId; error: WireError };

/** Documents of a slice that go to one shard, in their order, bounded in chunks. */
export interface PreparedGroup extends PackedDocuments {
  shard: number;
  /** The item in the slice that each document comes from. */
  places: number[];
  docids: DocId[];
  hasTexts: boolean;
  /** A digest for each chunk, where they are asked for; zeros for a chunk without a text. */
  digests?: Uint8Array;
}

export interface PreparedLines {
  items: PreparedItem[];
  /** Groups of one shard stand in the order of their documents. */
  groups: PreparedGroup[];
  /** Faults of ours that failed an item, for the log. */
  faults: string[];
}
