// What the server answers and what it takes, as the interface specification words it. Types only, for client.ts and its
// callers.
import type { ChunkDetail, ChunkSummary, Chunking, DocumentDetail, DocumentSummary, SearchMode, SearchTiming } from '../contract/resources.js';

export interface Health {
  status: 'ready' | 'degraded';
  version: string;
}

export interface Readiness {
  version: string;
  checks: Record<string, unknown>;
}

export interface CollectionOptions {
  display_name?: string;
  embedder?: string;
  embedder_type?: string;
  embed_model?: string;
  embedder_config?: Record<string, unknown>;
  chunking?: Chunking;
  priority_key?: string;
  search_mode?: SearchMode;
}

export interface CreatedCollection {
  collection: string;
  name: string;
  tenant: string;
  display_name: string;
  embed_model: string;
  embedder_type: string;
  embedder_config?: Record<string, unknown>;
  chunking?: Chunking;
  priority_key?: string;
  search_mode?: SearchMode;
}

export interface CollectionDetail {
  tenant: string;
  name: string;
  doc_count: number;
  chunk_count: number;
  display_name?: string;
  created_at?: string;
  embed_model?: string;
  embedder_type?: string;
  embedder_config?: Record<string, unknown>;
  vector_space_key?: string;
  chunking?: Chunking;
  priority_key?: string;
  search_mode?: SearchMode;
}

export interface CollectionSummary {
  name: string;
  display_name?: string;
  embedder_label?: string;
  vector_space_key?: string;
}

export interface Ingested {
  tenant: string;
  collection: string;
  docid: string;
  chunks: number;
}

/** What every ingest may say of its document. */
export interface IngestOptions {
  /** Omitted: the server makes one. A known one replaces its document. */
  docid?: string;
  metadata?: Record<string, unknown>;
}

export interface IngestFile extends IngestOptions {
  /** File name; its extension tells the type. */
  name: string;
  content: Blob;
}

export type StoredDocument = DocumentDetail & { tenant: string; collection: string };
export type StoredChunk = ChunkDetail & { tenant: string; collection: string };

export interface CollectionList {
  tenant: string;
  collections: CollectionSummary[];
  count: number;
}

export interface DocumentList {
  documents: DocumentSummary[];
  count: number;
}

export interface ChunkList {
  chunks: ChunkSummary[];
  count: number;
}

/** Exactly one of `q` and `v`. */
export interface SearchRequest {
  q?: string;
  v?: number[];
  k?: number;
  mode?: SearchMode;
  filters?: Record<string, unknown>;
  content_filter?: { op: 'exact' | 'phrase' | 'prefix' | 'contains'; value: string };
  include_common?: boolean;
}

export interface SearchHit {
  tenant: string;
  collection: string;
  id: string;
  score: number;
  text?: string;
  meta: Record<string, unknown>;
  match_reason: string;
}

export interface SearchAnswer {
  matches: SearchHit[];
  mode?: string;
  query_id?: string;
  timing?: SearchTiming;
  latency_ms?: number;
}
