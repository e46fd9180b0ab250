// Bodies of the document and chunk endpoints. Types only.
// Read by the handlers, the OpenAPI document and the client.
import type { ChunkDetail, ChunkSummary, DocumentDetail, DocumentSummary } from './collections.js';

/** Exactly one of `text` and `vector`. `null` counts as absent. */
export interface IngestBody {
  /** Omitted: the server makes one. A known one replaces its document. */
  docid?: string | null;
  metadata?: Record<string, unknown> | null;
  text?: string | null;
  vector?: number[] | null;
}

export interface Ingested {
  tenant: string;
  collection: string;
  docid: string;
  chunks: number;
  /** Of a file sent without an id: the one that its name gives, which another file has; `docid` is another one then. */
  docid_taken?: string;
}

/** Items as `IngestBody`; one of another shape is the item's failure. At least one. */
export interface BatchBody {
  documents: IngestBody[];
}

/** What became of one item of a batch, by its place in it. */
export interface BatchItemResult {
  /** From 0. */
  index: number;
  ok: boolean;
  docid?: string;
  chunks?: number;
  code?: string;
  error?: string;
}

export interface BatchAnswer {
  tenant: string;
  collection: string;
  documents: BatchItemResult[];
  count: number;
  succeeded: number;
  failed: number;
}

/** Closes the results of an NDJSON batch, one of which stands on each line before. */
export interface BatchSummary {
  ok: true;
  count: number;
  succeeded: number;
  failed: number;
  latency_ms: number;
  request_id: string;
}

export interface DocumentList {
  tenant: string;
  collection: string;
  documents: DocumentSummary[];
  count: number;
  /** Where the next page begins; only with `limit`, and only where there is one. */
  next_cursor?: string;
}

export interface ChunkList {
  tenant: string;
  collection: string;
  docid: string;
  chunks: ChunkSummary[];
  count: number;
  /** Where the next page begins; only with `limit`, and only where there is one. */
  next_cursor?: string;
}

export interface StoredDocument extends DocumentDetail {
  tenant: string;
  collection: string;
}

export interface StoredChunk extends ChunkDetail {
  tenant: string;
  collection: string;
}

export interface DeletedDocument {
  tenant: string;
  collection: string;
  docid: string;
  chunks_deleted: number;
}
