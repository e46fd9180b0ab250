// Collections: the catalog's record of one, what workers must know of it, bodies and routes.
import typia, { type tags } from 'typia';
import { type Whole, SERVICE_VERSION } from './common.js';
import type { ErrorCode } from './errors.js';
import type { CollectionId, CollectionName, Tenant } from './ids.js';
import { type Language, type Precision, SEARCH_MODES, type SearchMode } from './choices.js';
import { CHUNK_SIZE_MAX, CHUNK_SIZE_MIN } from './limits.js';
import { DISPLAY_NAME, PAGE, SLUG_TEXT } from './parameters.js';
import { ADMIN_COLLECTION, COLLECTION, json, jsonRoute, ownRoute, routes } from './route.js';

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

const SPACE = { embed_model: 'static-minilm-512', embedder_type: 'builtin', embedder_config: {} };
const SPACE_KEY = 'builtin:static-minilm-512:dim=512';
const SETTINGS = {
  chunking: { strategy: 'fixed', size: 1000, overlap: 200 },
  priority_key: 'prio_boost',
  search_mode: 'vector',
  language: 'english',
  precision: 'int16',
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
  description: 'Its documents stay where they are; its URL changes.',
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
    summary: 'The collections of a tenant',
    description: 'By slug. A tenant that does not exist has none.',
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
      'The body may be absent. Creating one that exists with the same options, or none, is 201 again. `embedder` goes alone or not at all beside `embedder_type`, `embed_model` and `embedder_config`. Chunking, priority key, search mode, language and precision cannot be changed later.',
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
    summary: 'Change the label of a collection',
    body: {
      check: typia.createValidateEquals<UpdateBody>(),
      schema: typia.json.schema<UpdateBody>(),
      required: true,
      refinements: { 'UpdateBody.display_name': DISPLAY_NAME },
      examples: { label: { display_name: 'Manuals' } },
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
    description: '`memory` is what the shards hold of it, in bytes; texts and metadata are on disk.',
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
        memory: { vectors: 368_640, codes: 0, graph: 6_144, postings: 51_200, text: 0 },
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
