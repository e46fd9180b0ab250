// Collections: list, create, detail, update, rename, delete; and the list of tenants.
// Handlers on the front thread: body in, use case, reply out. The route table (routes.ts) names them.
import typia from 'typia';
import type { CreateBody, MoveBody, UpdateBody } from '../../contract/api/collections.js';
import { AppError } from '../../contract/errors.js';
import { asCollectionName } from '../../contract/ids.js';
import type { Collection } from '../../contract/resources.js';
import type { Context } from '../../service/context.js';
import { collectionMemory } from '../../service/collection-memory.js';
import { countCollection } from '../../service/count-collections.js';
import { createCollection } from '../../service/create-collection.js';
import { deleteCollection } from '../../service/delete-collection.js';
import { listCollections } from '../../service/listings.js';
import { tenantNames } from '../../service/tenants.js';
import { relabelCollection, renameCollection } from '../../service/update-collection.js';
import { seesCollection } from '../../tenants/actor.js';
import { listingReply } from '../listing.js';
import type { Handler } from '../route.js';
import { fitting, parseJson } from '../validation.js';
import { collectionOf, tenantOf } from './path.js';

const validateUpdate = typia.createValidateEquals<UpdateBody>();
const validateMove = typia.createValidateEquals<MoveBody>();
const validateCreate = typia.createValidateEquals<CreateBody>();

export const listTenants =
  (context: Context): Handler =>
  async () => {
    const tenants = tenantNames(context);
    return { status: 200, json: { tenants, count: tenants.length } };
  };

/** Those that the caller's key sees. */
export const getCollections =
  (context: Context): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const isVisible = (name: string): boolean => seesCollection(request.actor, name);
    return listingReply(request.query, {
      head: { tenant },
      field: 'collections',
      pages: (span) => listCollections(context, tenant, isVisible, span),
    });
  };

export const postCollection =
  (context: Context): Handler =>
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

export const getCollectionDetail =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const collection = context.catalog.get(tenant, name);
    const [{ documents, chunks }, memory] = await Promise.all([
      countCollection(context, collection),
      collectionMemory(context, collection),
    ]);
    return {
      status: 200,
      json: {
        ...detailOf(collection),
        doc_count: documents,
        chunk_count: chunks,
        memory,
        ...(context.quarantine.has(collection.id) && { damaged: true }),
      },
    };
  };

/** The catalog's record without what is only ours. */
function detailOf(collection: Collection): Record<string, unknown> {
  const { id: _id, dim: _dim, generation: _generation, log_id: _logId, ...detail } = collection;
  return detail;
}

export const removeCollection =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    await deleteCollection(context, tenant, name);
    return { status: 200, json: { tenant, deleted: name } };
  };

export const patchCollection =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const { display_name: label } = fitting(validateUpdate(parseJson(await request.body.bytes())), 'body');
    return { status: 200, json: { tenant, name, display_name: await relabelCollection(context, tenant, name, label) } };
  };

export const moveCollection =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const { new_name: wanted } = fitting(validateMove(parseJson(await request.body.bytes())), 'body');
    const newName = asCollectionName(wanted);
    if (!seesCollection(request.actor, newName)) throw new AppError('auth_forbidden');
    await renameCollection(context, tenant, name, newName);
    return { status: 200, json: { tenant, old_name: name, new_name: newName } };
  };
