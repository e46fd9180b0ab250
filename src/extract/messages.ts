// Messages between the main thread and batch workers: requests to prepare a document or a slice of a batch, and their
// answers. Types only.
import type { Collection, Space } from '../api/collections.js';
import type { WireError } from '../api/errors.js';
import type { DocId } from '../api/ids.js';
import type { PackedDocuments } from '../text/prepared-document.js';

/** Query parameters for CSV and TSV files. The lists are unparsed; '' means absent. */
export interface CsvOptions {
  header: 'auto' | 'yes' | 'no';
  metaColumns: string;
  includeColumns: string;
}

/** An uploaded file: its bytes, or the path of the temporary file that contains them. */
export type UploadedFile = {
  kind: 'file';
  name: string;
  type: string;
  docid: string;
  metadata: string;
  /** The version that the stored document must have, 0 for none. */
  ifVersion?: number;
  /** The second from which on the document is gone; 0: never; absent: as the collection has it. */
  expiresAtS?: number;
  csv: CsvOptions;
} & ({ bytes: Uint8Array } | { path: string });

/** Passed to each batch worker when it starts. */
export interface BatchWorkerStart {
  /** Limit of the text of one file, and of its unpacked size. */
  textBytesMax: number;
  /** Limit of the memory outside of the heap for one page of a file; the heap has the limit of the thread. */
  memoryBytesMax: number;
}

/**
 * Part of every task: shared memory in which the thread reports its memory use (`reportMemory` of src/base/thread.ts).
 */
export interface Reported {
  report: SharedArrayBuffer;
}

/** A document in JSON or MessagePack. */
export interface EncodedBody {
  kind: 'json' | 'msgpack';
  bytes: Uint8Array;
}

export interface PrepareRequest {
  body: EncodedBody | UploadedFile;
  space: Space;
  chunking: Collection['chunking'];
  priorityKey: string;
  /** Seconds after which a document expires that names no time; absent: it does not. */
  ttlS?: number | undefined;
  nowMs: number;
  metadataBytesMax: number;
  /** Whether to compute digests of the texts of the chunks. */
  withDigests?: boolean;
}

export interface PrepareAnswer {
  docid: DocId;
  chunks: number;
  document: Uint8Array;
  /** The vectors, if the caller provided them. */
  vectors?: Float32Array;
  /** A digest per chunk, if requested and the chunks have texts. */
  digests?: Uint8Array;
}

/** A batch body (`{"documents":[…]}`) to split into slices. Its bytes are transferred. */
export interface SplitBatchRequest {
  bytes: Uint8Array;
  itemsMax: number;
  /** Whether the body is MessagePack. Absent: JSON. */
  isMsgpack?: boolean;
}

/** Items of a batch: one JSON text per line, without blank lines, or MessagePack values behind one another. */
export interface LineSlice {
  bytes: Uint8Array;
  lines: number;
  isMsgpack?: true;
}

export interface PrepareLinesRequest extends Omit<PrepareRequest, 'body'> {
  bytes: Uint8Array;
  isMsgpack?: true | undefined;
  /** The number of shards of the collection (api/placement). */
  spread: number;
  /** Whether a malformed line fails only its item, or rejects the batch with `invalid_json`. */
  malformed: 'item' | 'batch';
  /**
   * For a batch with an idempotency key: the fingerprints of the items that have been stored before, by their index in
   * the slice.
   */
  kept?: ReadonlyMap<number, string>;
}

/**
 * The result of preparing an item. In a batch with an idempotency key it has a digest of the item; `isKept`: the item has
 * been stored before.
 */
export type PreparedItem =
  | { docid: DocId; chunks: number; fingerprint?: string }
  | { docid?: DocId; error: WireError }
  | { isKept: true };

/** Documents of a slice for one shard, in order; the number of chunks is bounded. */
export interface PreparedGroup extends PackedDocuments {
  /** The place of the shard among those of a collection that has `spread` of them. */
  slot: number;
  spread: number;
  /** The index in the slice of each document's item. */
  places: number[];
  docids: DocId[];
  hasTexts: boolean;
  /** A digest per chunk, if requested; zeros for a chunk without a text. */
  digests?: Uint8Array;
}

export interface PreparedLines {
  items: PreparedItem[];
  /** The groups of a shard are in the order of their documents. */
  groups: PreparedGroup[];
  /** Internal errors that failed an item, for the log. */
  internalErrors: string[];
}
