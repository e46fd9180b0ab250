// The messages of a batch on its way: cut into slices of lines, prepared in groups by shard, embedded and stored by the
// group. Types only; plain data between the front thread and the workers, as in messages.ts.
import type { WireError } from './errors.js';
import type { DocId } from './ids.js';
import type { PrepareRequest } from './prepare-messages.js';
import type { PackedDocuments } from './prepared-document.js';

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
