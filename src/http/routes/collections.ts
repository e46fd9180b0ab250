// Collections: list, create, detail, update, rename, delete; and the list of tenants.
// Handlers on the front thread: body in, use case, reply out. The route table (routes.ts) names them.
import typia from 'typia';
import type { CreateBody, MoveBody, UpdateBody } from '../../api/collections.js';
import { SERVICE_VERSION } from '../../api/common.js';
import { AppError, type ErrorCode } from '../../api/errors.js';
import { asCollectionName } from '../../api/ids.js';
import {
  createCollection,
  deleteCollection,
  relabelCollection,
  renameCollection,
} from '../../service/collections/collections.js';
import { describeCollection } from '../../service/collections/usage.js';
import { listCollections } from '../../service/documents/listings.js';
import type { Services } from '../../service/services.js';
import { seesCollection } from '../../service/tenants/actor.js';
import { fitting, parseJson } from '../json-body.js';
import { listingReply } from '../listing.js';
import { type Operation, PAGE, jsonAnswer, jsonRequest } from '../openapi/operation.js';
import { COLLECTION } from '../../api/route.js';
import {
  type Handler,
  READ,
  READ_ONE,
  type ListedRoute,
  admin,
  collectionOf,
  get,
  post,
  remove,
  tenantOf,
} from '../route.js';

const validateUpdate = typia.createValidateEquals<UpdateBody>();
const validateMove = typia.createValidateEquals<MoveBody>();
const validateCreate = typia.createValidateEquals<CreateBody>();

/** Those that the caller's key sees. */
const getCollections =
  (context: Services['documents']): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const isVisible = (name: string): boolean => seesCollection(request.actor, name);
    return listingReply(request.query, {
      head: { tenant },
      field: 'collections',
      pages: (span) => listCollections(context, tenant, isVisible, span),
    });
  };

const postCollection =
  (context: Services['collections']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const body = parseJson(await request.body.bytes(), true);
    const made = await createCollection(context, tenant, name, fitting(validateCreate(body ?? {}), 'body'));
    const {
      display_name,
      embed_model,
      embedder_type,
      embedder_config,
      chunking,
      priority_key,
      search_mode,
      language,
      precision,
    } = made;
    return {
      status: 201,
      json: {
        collection: name,
        name,
        tenant,
        display_name,
        embed_model,
        embedder_type,
        embedder_config,
        chunking,
        priority_key,
        search_mode,
        language,
        precision,
      },
    };
  };

const getCollectionDetail =
  (context: Services['collections']): Handler =>
  async (request) => ({ status: 200, json: await describeCollection(context, ...collectionOf(request)) });

const removeCollection =
  (context: Services['collections']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    await deleteCollection(context, tenant, name);
    return { status: 200, json: { tenant, deleted: name } };
  };

const patchCollection =
  (context: Services['collections']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const { display_name: label } = fitting(validateUpdate(parseJson(await request.body.bytes())), 'body');
    return { status: 200, json: { tenant, name, display_name: await relabelCollection(context, tenant, name, label) } };
  };

const moveCollection =
  (context: Services['collections']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const { new_name: wanted } = fitting(validateMove(parseJson(await request.body.bytes())), 'body');
    const newName = asCollectionName(wanted);
    if (!seesCollection(request.actor, newName)) throw new AppError('auth_forbidden');
    await renameCollection(context, tenant, name, newName);
    return { status: 200, json: { tenant, old_name: name, new_name: newName } };
  };

// The lines of the route table for collections, and the admin's list of tenants.
// Called by ../routes.ts.

export function collectionRoutes({
  collections: context,
  documents,
}: Pick<Services, 'collections' | 'documents'>): ListedRoute[] {
  return [
    admin(
      post(
        'moveCollectionAsAdmin',
        '/v1/admin/collections/{tenant}/{name}/move',
        [200, 400, 401, 403, 404, 409, 422, 500],
        moveCollection(context),
      ),
    ),
    get('listCollections', '/v1/collections/{tenant}', READ, getCollections(documents)),
    {
      ...post('createCollection', COLLECTION, [201, 400, 401, 403, 422, 429, 500, 503], postCollection(context)),
      scope: 'manage',
    },
    {
      ...post('updateCollection', COLLECTION, [200, 400, 401, 403, 404, 422, 429, 500], patchCollection(context)),
      method: 'PATCH',
      scope: 'manage',
    },
    {
      ...remove('deleteCollection', COLLECTION, [200, 400, 401, 403, 404, 422, 429, 500], removeCollection(context)),
      scope: 'manage',
    },
    get('getCollection', `${COLLECTION}/detail`, READ_ONE, getCollectionDetail(context)),
    {
      ...post(
        'moveCollection',
        `${COLLECTION}/move`,
        [200, 400, 401, 403, 404, 409, 422, 429, 500],
        moveCollection(context),
      ),
      scope: 'manage',
    },
  ];
}

// Entries of the collection operations.
// Read by ../operations.ts. Constants.

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
