// Collections: the catalog's record of one, what workers must know of it, and the bodies of the collection endpoints.
// Documents, chunks and timings as the specification words them. Types only.
import type { tags } from 'typia';
import type { Whole } from './common.js';
import type { CollectionId, CollectionName, Tenant } from './ids.js';
import type { Language, Precision, SearchMode } from './choices.js';

export interface Chunking {
  strategy: 'fixed' | 'none';
  /** Characters (Unicode code points) per chunk; absent for `none`. */
  size?: number;
  /** Characters shared with the previous chunk; absent for `none`. */
  overlap?: number;
}

/** An embedding space as a collection stores it. */
export interface Space {
  embedder_type: string;
  embed_model: string;
  embedder_config: Record<string, unknown>;
  vector_space_key: string;
  dim: number;
}

/** A collection in the catalog: everything but its documents. */
export interface Collection extends Space {
  id: CollectionId;
  tenant: Tenant;
  name: CollectionName;
  display_name: string;
  created_at: string;
  chunking: Chunking;
  priority_key: string;
  search_mode: SearchMode;
  /** By whose stems its words are ranked. */
  language: Language;
  /** In how many bits its vectors are searched. */
  precision: Precision;
  service_version: string;
  schema_version: number;
  /**
   * Part of the keys of its vectors; 1, for what is built beside a collection is a collection of its own
   * (service/collections/shadow-collections.ts).
   */
  generation: number;
  /** The id that its query log is kept under, where that is not its own: a log stays when another space takes over. */
  log_id?: CollectionId;
}

/** Of searches that name no breadth, in one shard. */
export interface Walks {
  /** Of the broadest; 0 where nothing of the collection is in memory, or it is all scanned. */
  breadth: number;
  /** Nothing waits for its place in the graph, or for codes, or for a check of recall. */
  isSettled: boolean;
}

/** How far the graph of a collection is in a shard. */
export interface LinkingState {
  rows: number;
  /** Rows that wait for links; searches scan them meanwhile. */
  unlinked: number;
  /** Whether codes are being made, or recall is being checked. */
  isTended: boolean;
}

/** Bytes of the shards' memory that a collection takes. */
export interface MemoryUse {
  /** Vectors, at the precision of the collection. */
  vectors: number;
  /** Short codes of the vectors, which walks read. */
  codes: number;
  graph: number;
  /** Words and metadata, once a search has wanted them. */
  postings: number;
  /** 0: texts are on disk alone. */
  text: number;
}

export interface DocumentSummary {
  docid: string;
  version: number;
  ingested_at: string;
  chunk_count: number;
  /** Name of the file that it came as. */
  filename?: string;
}

export interface DocumentDetail extends DocumentSummary {
  metadata: Record<string, unknown>;
  chunk_ids: string[];
}

export interface ChunkSummary {
  rid: string;
  chunk_path: string;
  ingested_at: string;
  meta: Record<string, unknown>;
}

export interface ChunkDetail extends ChunkSummary {
  docid: string;
}

/** All in ms. */
/** Of a document, or of a part of a batch. */
export interface IngestTiming {
  prepare_ms?: number;
  embed_ms?: number;
  store_ms?: number;
}

export interface SearchTiming {
  embed_ms: number;
  filter_ms: number;
  hydrate_ms: number;
  search_ms: number;
  /** Of mode hybrid. */
  lexical_search_ms?: number;
  vector_search_ms?: number;
  /** Where the hits were reranked. */
  rerank_ms?: number;
}

/** What a shard must know of a collection to work on its part of it. */
export interface CollectionRef {
  id: CollectionId;
  generation: number;
  dim: number;
  language: Language;
  precision: Precision;
}

/** Collections of one kind: all of a reference but its id. */
export interface CollectionGroup {
  kind: Omit<CollectionRef, 'id'>;
  ids: Uint32Array;
}

/** `fixed`: overlapping windows of characters. `none`: each text is one chunk. */
interface ChunkingBody {
  strategy?: 'fixed' | 'none' | null;
  /** `fixed` only: characters per chunk. */
  size?: Whole | null;
  /** `fixed` only: characters shared with the previous chunk; at most a quarter of the size. */
  overlap?: Whole | null;
}

/** All optional; the body itself may be absent. */
export interface CreateBody {
  display_name?: string | null;
  /** Selector: instance key, type, type:model, or vector-space key. Not together with the detailed fields. */
  embedder?: string | null;
  embedder_type?: string | null;
  embed_model?: string | null;
  embedder_config?: Record<string, unknown> | null;
  chunking?: ChunkingBody | null;
  priority_key?: (string & tags.MinLength<1>) | null;
  search_mode?: string | null;
  /**
   * By whose stems and without whose stop words mode hybrid ranks; `none`: words as they stand. Omitted: the
   * instance's.
   */
  language?: Language | null;
  /**
   * In how many bits vectors are searched; `int8` takes about 0.6 of the memory, and its cosines are within about .005.
   */
  precision?: Precision | null;
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
  language?: Language;
  precision?: Precision;
}

export interface CollectionDetail {
  tenant: string;
  name: string;
  doc_count: number;
  chunk_count: number;
  display_name?: string;
  /** ISO 8601. */
  created_at?: string;
  embed_model?: string;
  embedder_type?: string;
  embedder_config?: Record<string, unknown>;
  vector_space_key?: string;
  chunking?: Chunking;
  priority_key?: string;
  search_mode?: SearchMode;
  language?: Language;
  precision?: Precision;
  service_version?: string;
  schema_version?: number;
  memory?: MemoryUse;
  /** Records of it are damaged on the disk, and it is not served. */
  damaged?: true;
}

export interface CollectionSummary {
  name: string;
  display_name?: string;
  /** Type and model of the embedder in one label. */
  embedder_label?: string;
  vector_space_key?: string;
  language?: Language;
  /** Records of it are damaged on the disk, and it is not served. */
  damaged?: true;
}

export interface CollectionList {
  tenant: string;
  collections: CollectionSummary[];
  count: number;
  /** Where the next page begins; only with `limit`, and only where there is one. */
  next_cursor?: string;
}

export interface UpdateBody {
  display_name: string;
}

export interface UpdatedCollection {
  tenant: string;
  name: string;
  display_name: string;
}

export interface MoveBody {
  new_name: string;
}

export interface MovedCollection {
  tenant: string;
  old_name: string;
  new_name: string;
}

export interface DeletedCollection {
  tenant: string;
  /** The slug. */
  deleted: string;
}
