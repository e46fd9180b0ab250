// Bodies of the collection endpoints. Types only.
// Read by the handlers, the OpenAPI document and the client.
import type { tags } from 'typia';
import type { Language } from '../language.js';
import type { Precision } from '../precision.js';
import type { Chunking, MemoryUse, SearchMode } from '../resources.js';
import type { Whole } from './common.js';

/** `fixed`: overlapping windows of characters. `none`: each text is one chunk. */
export interface ChunkingBody {
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
