// Entries of the collection operations.
// Read by ../operations.ts. Constants.
import type { ErrorCode } from '../../../contract/errors.js';
import { SERVICE_VERSION } from '../../../contract/version.js';
import { jsonAnswer, jsonRequest, type Operation } from '../operation.js';
import { PAGE } from '../parameters.js';

const SPACE = { embed_model: 'static-minilm-512', embedder_type: 'builtin', embedder_config: {} };
const SPACE_KEY = 'builtin:static-minilm-512:dim=512';
const SETTINGS = {
  chunking: { strategy: 'fixed' as const, size: 1000, overlap: 200 },
  priority_key: 'prio_boost',
  search_mode: 'vector' as const,
  language: 'english' as const,
  precision: 'int16' as const,
};

const CONFLICTS: readonly ErrorCode[] = [
  'chunking_conflict',
  'search_mode_conflict',
  'priority_key_conflict',
  'collection_settings_conflict',
];
const MOVE_CODES: readonly ErrorCode[] = [
  'collection_not_found',
  'collection_conflict',
  'move_invalid',
  'storage_full',
];

const move = {
  tag: 'Collections' as const,
  description: 'Its documents stay where they are; its URL changes.',
  request: { required: true, content: jsonRequest('MoveBody', { rename: { new_name: 'manuals' } }) },
  answer: jsonAnswer('MovedCollection', { tenant: 'acme', old_name: 'docs', new_name: 'manuals' }),
  codes: MOVE_CODES,
};

export const COLLECTION_OPERATIONS = {
  listCollections: {
    tag: 'Collections',
    summary: 'The collections of a tenant',
    description: 'By slug. A tenant that does not exist has none.',
    query: PAGE,
    answer: jsonAnswer('CollectionList', {
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
    }),
  },
  createCollection: {
    tag: 'Collections',
    summary: 'Create a collection',
    description:
      'The body may be absent. Creating one that exists with the same options, or none, is 201 again. `embedder` goes alone or not at all beside `embedder_type`, `embed_model` and `embedder_config`. Chunking, priority key, search mode, language and precision cannot be changed later.',
    request: {
      required: false,
      content: jsonRequest('CreateBody', {
        defaults: {},
        settings: {
          display_name: 'Handbooks',
          chunking: { strategy: 'fixed', size: 800, overlap: 100 },
          search_mode: 'hybrid',
        },
        own_vectors: { embedder_type: 'identity', embedder_config: { dim: 384 } },
      }),
    },
    answer: jsonAnswer('CreatedCollection', {
      collection: 'docs',
      name: 'docs',
      tenant: 'acme',
      display_name: 'Handbooks',
      ...SPACE,
      ...SETTINGS,
    }),
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
  },
  getCollection: {
    tag: 'Collections',
    summary: 'Settings and counts of a collection',
    description: '`memory` is what the shards hold of it, in bytes; texts and metadata are on disk.',
    answer: jsonAnswer('CollectionDetail', {
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
    }),
    codes: ['collection_not_found'],
  },
  updateCollection: {
    tag: 'Collections',
    summary: 'Change the label of a collection',
    request: { required: true, content: jsonRequest('UpdateBody', { label: { display_name: 'Manuals' } }) },
    answer: jsonAnswer('UpdatedCollection', { tenant: 'acme', name: 'docs', display_name: 'Manuals' }),
    codes: ['collection_not_found', 'invalid_display_name', 'storage_full'],
  },
  deleteCollection: {
    tag: 'Collections',
    summary: 'Delete a collection with every document in it',
    answer: jsonAnswer('DeletedCollection', { tenant: 'acme', deleted: 'docs' }),
    codes: ['collection_not_found', 'storage_full'],
  },
  moveCollection: { ...move, summary: 'Rename a collection' },
  moveCollectionAsAdmin: { ...move, summary: 'Rename a collection of any tenant' },
} satisfies Record<string, Operation>;
