// Collections: the catalog record, the reference that workers use, bodies and routes.
import typia, { type tags } from 'typia';
import { type Whole, SERVICE_VERSION } from './common.js';
import type { ErrorCode } from './errors.js';
import type { CollectionId, CollectionName, Tenant } from './ids.js';
import { type ChunkingStrategy, type Language, type Precision, SEARCH_MODES, type SearchMode } from './choices.js';
import {
  CHUNK_SIZE_MAX,
  CHUNK_SIZE_MIN,
  type SHARDS_MAX,
  SYNONYM_BYTES_MAX,
  type SYNONYM_RULES_MAX,
  type SYNONYM_TEXTS_MAX,
  type TTL_MAX_S,
} from './limits.js';
import { DISPLAY_NAME, PAGE, SLUG_TEXT } from './parameters.js';
import { ADMIN_COLLECTION, COLLECTION, json, jsonRoute, ownRoute, routes } from './route.js';

export interface Chunking {
  strategy: ChunkingStrategy;
  /** Characters (Unicode code points) per chunk at most; absent for `none`. */
  size?: number;
  /** Characters shared with the previous chunk, at most for `sentence` and `paragraph`; absent for `none`. */
  overlap?: number;
}

/** A vector space as a collection stores it. */
export interface Space {
  embedder_type: string;
  embed_model: string;
  embedder_config: Record<string, unknown>;
  vector_space_key: string;
  dim: number;
}

/** The catalog record of a collection: everything except its documents. */
export interface Collection extends Space {
  id: CollectionId;
  tenant: Tenant;
  name: CollectionName;
  display_name: string;
  created_at: string;
  chunking: Chunking;
  priority_key: string;
  search_mode: SearchMode;
  /** The language for stemming and stop words. */
  language: Language;
  /** The precision of its vectors in memory. */
  precision: Precision;
  /** Seconds after which a document expires that names no time itself; 0 or absent: it does not. */
  ttl?: number;
  service_version: string;
  schema_version: number;
  /**
   * Part of the keys of its vectors. Always 1: a reindex builds its vectors in a shadow collection
   * (service/collections/shadow-collections.ts).
   */
  generation: number;
  /**
   * The id under which the query log is kept, if that is not the collection's own: the log survives a switch to another
   * vector space.
   */
  log_id?: CollectionId;
  /** Where its documents are (api/placement). */
  home?: number;
  spread?: number;
  /** Applied to the words of searches. */
  synonyms?: SynonymRule[];
}

/** Words that a search for other words finds too. Each text is a word or a few words in a row. */
export interface SynonymRule {
  /** Texts that mean the same or, with `to`, texts whose search also finds those of `to`. */
  words: string[];
  to?: string[];
}

/** Graph searches of a collection in one shard, for searches that do not name `ef`. */
export interface SearchEf {
  /** The largest `ef` in use. 0 if nothing of the collection is in memory or everything is scanned. */
  ef: number;
  /** Whether the graph is complete: no row is unindexed, and neither quantization nor a recall check is in progress. */
  isGraphComplete: boolean;
}

/** Progress of the graph of a collection in one shard. */
export interface IndexingState {
  rows: number;
  /** Unindexed rows; searches scan them meanwhile. */
  unindexed: number;
  /** Whether quantization or a recall check is in progress. */
  isTuning: boolean;
}

/** Bytes of memory that a collection takes in one shard. */
export interface ShardMemory {
  /** Vectors, at the precision of the collection. */
  vectors: number;
  /** Quantized vectors, which graph searches read. */
  quantized_vectors: number;
  graph: number;
  /** Text index and metadata, once a search has used them. */
  postings: number;
  /** Always 0: texts are on disk only. */
  text: number;
}

/** Bytes of memory that a collection takes in the shards. */
export interface MemoryUse extends ShardMemory {
  /**
   * The same as `quantized_vectors`. Removed in release 0.11.0.
   *
   * @deprecated
   */
  codes: number;
}

/** What a shard must know of a collection to work on its segments. */
export interface CollectionRef {
  id: CollectionId;
  generation: number;
  dim: number;
  language: Language;
  precision: Precision;
}

/** Collections of one kind, that is, with the same reference except for the id. */
export interface CollectionGroup {
  kind: Omit<CollectionRef, 'id'>;
  ids: Uint32Array;
}

/**
 * `fixed`: overlapping windows of characters. `sentence` and `paragraph`: whole sentences or paragraphs, as many as fit
 * into a chunk; a heading begins a new one. `none`: each text is one chunk.
 */
interface ChunkingBody {
  strategy?: ChunkingStrategy | null;
  /** Not for `none`: the largest number of characters of a chunk. */
  size?: Whole | null;
  /**
   * Not for `none`: characters shared with the previous chunk; at most a quarter of the size. For `sentence` and
   * `paragraph` as many whole sentences as this number has room for.
   */
  overlap?: Whole | null;
}

/** Seconds from the ingest of a document to its expiry. */
type Ttl = Whole & tags.Minimum<1> & tags.Maximum<typeof TTL_MAX_S>;

/** Settings of a new collection. All fields are optional, and so is the body. */
export interface CreateBody {
  display_name?: string | null;
  /**
   * Selects an embedder by its configured key, type, `type:model` or vector-space key. Cannot be combined with the
   * `embedder_type`, `embed_model` and `embedder_config` fields.
   */
  embedder?: string | null;
  embedder_type?: string | null;
  embed_model?: string | null;
  embedder_config?: Record<string, unknown> | null;
  chunking?: ChunkingBody | null;
  priority_key?: (string & tags.MinLength<1>) | null;
  search_mode?: string | null;
  /**
   * The language whose stemming and stop words mode `hybrid` uses; `none` indexes terms unchanged. Default: the
   * server's language.
   */
  language?: Language | null;
  /**
   * Precision of vectors in memory. `int8` takes about 0.6 of the memory of `int16`, with cosines within about .005.
   */
  precision?: Precision | null;
  /** Documents that name no `expires_at` are gone this many seconds after their ingest. Default: they stay. */
  ttl?: Ttl | null;
  /**
   * The number of shards over which a new collection is spread, at most `storage.partitions`. A collection that grows is
   * spread over more of them by itself; more from the start store a large import faster, and each of them makes searches
   * slower. Ignored if the collection exists.
   */
  partitions?: (Whole & tags.Minimum<1> & tags.Maximum<typeof SHARDS_MAX>) | null;
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
  /** Absent if documents stay. */
  ttl?: number;
  /** The number of shards over which the collection is spread. */
  partitions?: number;
}

export interface CollectionDetail {
  tenant: string;
  name: string;
  doc_count: number;
  chunk_count: number;
  display_name?: string;
  /** ISO 8601 time. */
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
  /** Seconds after which documents expire that name no time themselves. Absent if they stay. */
  ttl?: number;
  /** The number of shards over which the collection is spread. */
  partitions?: number;
  service_version?: string;
  schema_version?: number;
  memory?: MemoryUse;
  /** Absent if it has none. */
  synonyms?: SynonymRule[];
  /** True if records of the collection are damaged on disk; such a collection cannot be searched. Absent otherwise. */
  damaged?: true;
}

export interface CollectionSummary {
  name: string;
  display_name?: string;
  /** Type and model of the embedder as one label. */
  embedder_label?: string;
  vector_space_key?: string;
  language?: Language;
  /** True if records of the collection are damaged on disk; such a collection cannot be searched. Absent otherwise. */
  damaged?: true;
}

export interface CollectionList {
  tenant: string;
  collections: CollectionSummary[];
  count: number;
  /** Cursor of the next page. Present only with `limit`, and only if there is a next page. */
  next_cursor?: string;
}

/** Texts on one side of a rule. */
type SynonymTexts = string[] & tags.MinItems<1> & tags.MaxItems<typeof SYNONYM_TEXTS_MAX>;

/** At least one setting. */
export interface UpdateBody {
  display_name?: string | null;
  /**
   * All synonyms of the collection, in place of those before. With `words` alone, a search for any of them finds the
   * others too; with `to`, a search for any of `words` also finds `to`, and not the other way round.
   */
  synonyms?: ({ words: SynonymTexts; to?: SynonymTexts }[] & tags.MaxItems<typeof SYNONYM_RULES_MAX>) | null;
  /** For documents that are ingested from now on; null: they stay. */
  ttl?: Ttl | null;
}

export interface UpdatedCollection {
  tenant: string;
  name: string;
  display_name: string;
  /** Absent if documents stay. */
  ttl?: number;
  /** Present if they were changed. */
  synonyms?: SynonymRule[];
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
  /** Name of the deleted collection. */
  deleted: string;
}

const SPACE = { embed_model: 'static-minilm-512', embedder_type: 'builtin', embedder_config: {} };
const SPACE_KEY = 'builtin:static-minilm-512:dim=512';
const SETTINGS = {
  chunking: { strategy: 'fixed', size: 1000, overlap: 200 },
  priority_key: 'prio_boost',
  search_mode: 'vector',
  language: 'english',
  precision: 'int16',
  partitions: 1,
} as const;

const CONFLICTS: readonly ErrorCode[] = [
  'chunking_conflict',
  'search_mode_conflict',
  'priority_key_conflict',
  'collection_settings_conflict',
];

const tag = 'Collections';
const read = { access: 'tenant', scope: 'search', tag } as const;
const change = { access: 'tenant', scope: 'manage', keeps400: true, tag } as const;

const move = {
  method: 'POST',
  keeps400: true,
  tag,
  description: 'Only the name and the URL change; documents are not moved.',
  body: {
    check: typia.createValidateEquals<MoveBody>(),
    schema: typia.json.schema<MoveBody>(),
    required: true,
    refinements: { 'MoveBody.new_name': SLUG_TEXT },
    examples: { rename: { new_name: 'manuals' } },
  },
  answer: {
    schema: typia.json.schema<MovedCollection>(),
    example: { tenant: 'acme', old_name: 'docs', new_name: 'manuals' },
  },
  codes: ['collection_not_found', 'collection_conflict', 'move_invalid', 'storage_full'],
} as const;

export const COLLECTION_ROUTES = routes({
  moveCollectionAsAdmin: jsonRoute({
    ...move,
    path: `${ADMIN_COLLECTION}/move`,
    access: 'admin',
    summary: 'Rename a collection of any tenant',
  }),
  listCollections: ownRoute({
    ...read,
    method: 'GET',
    path: '/v1/collections/{tenant}',
    summary: 'List the collections of a tenant',
    description: 'Ordered by slug. The list is empty for a tenant that does not exist.',
    query: PAGE,
    answer: json(typia.json.schema<CollectionList>(), {
      answer: {
        tenant: 'acme',
        collections: [
          {
            name: 'docs',
            display_name: 'Handbooks',
            embedder_label: 'builtin:static-minilm-512',
            vector_space_key: SPACE_KEY,
            language: 'english',
          },
        ],
        count: 1,
      },
    }),
  }),
  createCollection: jsonRoute({
    ...change,
    method: 'POST',
    path: COLLECTION,
    summary: 'Create a collection',
    description:
      'The body is optional. Creating an existing collection again, with the same settings or none, also answers 201. Provide either `embedder`, or `embedder_type`, `embed_model` and `embedder_config`. Chunking, priority key, search mode, language and precision cannot be changed later.',
    body: {
      check: typia.createValidateEquals<CreateBody>(),
      schema: typia.json.schema<CreateBody>(),
      required: false,
      orNothing: true,
      refinements: {
        'CreateBody.display_name': DISPLAY_NAME,
        'CreateBody.search_mode': { enum: [...SEARCH_MODES, null], default: 'vector' },
        'CreateBody.priority_key': { default: 'prio_boost' },
        'ChunkingBody.size': { minimum: CHUNK_SIZE_MIN, maximum: CHUNK_SIZE_MAX },
        'ChunkingBody.overlap': { maximum: CHUNK_SIZE_MAX / 4 },
      },
      examples: {
        defaults: {},
        settings: {
          display_name: 'Handbooks',
          chunking: { strategy: 'fixed', size: 800, overlap: 100 },
          search_mode: 'hybrid',
        },
        own_vectors: { embedder_type: 'identity', embedder_config: { dim: 384 } },
      },
    },
    success: 201,
    answer: {
      schema: typia.json.schema<CreatedCollection>(),
      example: {
        collection: 'docs',
        name: 'docs',
        tenant: 'acme',
        display_name: 'Handbooks',
        ...SPACE,
        ...SETTINGS,
      },
    },
    codes: [
      'invalid_display_name',
      'invalid_chunking',
      'invalid_embedder_config',
      'invalid_search_mode',
      'search_mode_disabled',
      ...CONFLICTS,
      'collection_limit_reached',
      'embedder_unavailable',
      'storage_full',
    ],
  }),
  updateCollection: jsonRoute({
    ...change,
    method: 'PATCH',
    path: COLLECTION,
    summary: 'Change the display name, the synonyms or the `ttl` of a collection',
    description: `Searches use new synonyms at once; nothing is indexed again. All rules together have at most ${SYNONYM_BYTES_MAX} bytes of JSON.`,
    body: {
      check: typia.createValidateEquals<UpdateBody>(),
      schema: typia.json.schema<UpdateBody>(),
      required: true,
      refinements: { 'UpdateBody.display_name': DISPLAY_NAME },
      examples: {
        label: { display_name: 'Manuals' },
        synonyms: {
          synonyms: [{ words: ['submarine', 'u-boat'] }, { words: ['ship'], to: ['frigate', 'steam boat'] }],
        },
        ttl: { ttl: 86_400 },
      },
    },
    answer: {
      schema: typia.json.schema<UpdatedCollection>(),
      example: { tenant: 'acme', name: 'docs', display_name: 'Manuals' },
    },
    codes: ['collection_not_found', 'invalid_display_name', 'storage_full'],
  }),
  deleteCollection: jsonRoute({
    ...change,
    method: 'DELETE',
    path: COLLECTION,
    summary: 'Delete a collection with every document in it',
    answer: { schema: typia.json.schema<DeletedCollection>(), example: { tenant: 'acme', deleted: 'docs' } },
    codes: ['collection_not_found', 'storage_full'],
  }),
  getCollection: jsonRoute({
    ...read,
    method: 'GET',
    path: `${COLLECTION}/detail`,
    summary: 'Settings and counts of a collection',
    description:
      '`memory` is the memory that the collection takes in the shards, in bytes; texts and metadata are on disk.',
    answer: {
      schema: typia.json.schema<CollectionDetail>(),
      example: {
        tenant: 'acme',
        name: 'docs',
        doc_count: 117,
        chunk_count: 468,
        display_name: 'Handbooks',
        created_at: '2026-01-05T09:29:41.730Z',
        ...SPACE,
        vector_space_key: SPACE_KEY,
        ...SETTINGS,
        service_version: SERVICE_VERSION,
        schema_version: 1,
        memory: { vectors: 368_640, quantized_vectors: 0, codes: 0, graph: 6_144, postings: 51_200, text: 0 },
      },
    },
    codes: ['collection_not_found'],
  }),
  moveCollection: jsonRoute({
    ...move,
    path: `${COLLECTION}/move`,
    access: 'tenant',
    scope: 'manage',
    summary: 'Rename a collection',
  }),
});
