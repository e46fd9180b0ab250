// Use cases that create, describe, change, rename and delete a collection, and the lookup of the common collection,
// which searches need on any thread that serves HTTP. Documents are stored under the id of their collection, so each of
// these changes is a single write to the catalog. Runs on front threads and on the main thread.
import type {
  COLLECTION_ROUTES,
  Collection,
  CollectionDetail,
  CreatedCollection,
  UpdateBody,
  UpdatedCollection,
} from '../../api/collections.js';
import { type CollectionChange, logIdOf } from '../../storage/catalog-commands.js';
import { SCHEMA_VERSION, SERVICE_VERSION } from '../../api/common.js';
import { AppError, invalidField } from '../../api/errors.js';
import { type CollectionName, type Tenant, asCollectionName, asTenant } from '../../api/ids.js';
import { spreadOf } from '../../api/placement.js';
import type { Metrics } from '../../observability/metrics.js';
import type { Quarantine } from '../../pool/quarantine.js';
import { checkSynonyms } from '../../text/synonyms.js';
import type { Embedders } from '../embedding/embedders.js';
import { seesCollection } from '../tenants/actor.js';
import type { TenantRegistry } from '../tenants/registry.js';
import type { UseCases } from '../use-case.js';
import type { Catalog } from './catalog.js';
import { type CatalogContext, asOfNow, changeCatalog, forgetCollection, nowIso } from './catalog-changes.js';
import {
  type CollectionDefaults,
  type CreateOptions,
  assertSameSettings,
  displayName,
  settingsOf,
} from './settings.js';
import { collectionMemory, countCollection } from './usage.js';

export interface CollectionsContext {
  readonly store: CatalogContext;
  readonly embedders: Pick<Embedders, 'spaceFor' | 'preflight'>;
  readonly tenants: Pick<TenantRegistry, 'limitsOf'>;
  readonly quarantine: Pick<Quarantine, 'has'>;
  readonly metrics: Pick<Metrics, 'count'>;
  /** Settings of a collection whose create body does not give them. */
  readonly defaults: CollectionDefaults;
  readonly common: CommonCollection;
}

/** The collection that `/v1/search` and `include_common` search, if enabled. */
export interface CommonCollection {
  readonly enabled: boolean;
  readonly tenant: string;
  readonly collection: string;
}

export function collectionUseCases(context: CollectionsContext): UseCases<typeof COLLECTION_ROUTES> {
  const move: UseCases<typeof COLLECTION_ROUTES>['moveCollection'] = async (
    { tenant, name, body: { new_name: wanted } },
    { actor },
  ) => {
    const newName = asCollectionName(wanted);
    if (!seesCollection(actor, newName)) throw new AppError('auth_forbidden');
    await renameCollection(context, tenant, name, newName);
    return { tenant, old_name: name, new_name: newName };
  };
  return {
    createCollection: async ({ tenant, name, body }) =>
      createdOf(context, await createCollection(context, tenant, name, body)),
    getCollection: ({ tenant, name }) => describeCollection(context, tenant, name),
    updateCollection: ({ tenant, name, body }) => updateCollection(context, tenant, name, body),
    deleteCollection: async ({ tenant, name }) => {
      await deleteCollection(context, tenant, name);
      return { tenant, deleted: name };
    },
    moveCollection: move,
    moveCollectionAsAdmin: move,
  };
}

/** The record of a collection that does not exist yet; stores nothing. Throws AppError for invalid settings. */
export function plannedCollection(
  { store, defaults, embedders }: CollectionsContext,
  tenant: Tenant,
  name: CollectionName,
  options: CreateOptions,
): Omit<Collection, 'id'> {
  return {
    tenant,
    name,
    display_name: name,
    ...settingsOf(options, embedders.spaceFor(tenant, options), defaults),
    created_at: nowIso(store),
    service_version: SERVICE_VERSION,
    schema_version: SCHEMA_VERSION,
    generation: 1,
  };
}

/**
 * Creating is idempotent: with the same options or none, the existing collection is returned; other options are a
 * conflict (400). Throws 429 `collection_limit_reached`. Throws 503 `embedder_unavailable` if nothing could be embedded
 * for the collection now, and then does not create it.
 */
async function createCollection(
  context: CollectionsContext,
  tenant: Tenant,
  name: CollectionName,
  options: CreateOptions,
): Promise<Collection> {
  const planned = plannedCollection(context, tenant, name, options);
  if (!context.store.catalog.find(tenant, name)) await context.embedders.preflight(planned, tenant);
  const collection = await storeCollection(context, planned);
  assertSameSettings(options, planned, collection);
  return collection;
}

function createdOf({ store: { shards } }: CollectionsContext, collection: Collection): CreatedCollection {
  const { tenant, name, display_name, embed_model, embedder_type, embedder_config } = collection;
  const { chunking, priority_key, search_mode, language, precision, ttl } = collection;
  return {
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
    ...(ttl && { ttl }),
    partitions: spreadOf(collection, shards.size),
  };
}

/** The catalog's record without internal fields, with counts and memory use. Throws 404 `collection_not_found`. */
async function describeCollection(
  { store, quarantine }: CollectionsContext,
  tenant: Tenant,
  name: CollectionName,
): Promise<CollectionDetail> {
  const collection = store.catalog.get(tenant, name);
  const [{ documents, chunks }, memory] = await Promise.all([
    countCollection(store, collection),
    collectionMemory(store, collection),
  ]);
  const {
    id,
    dim: _dim,
    generation: _generation,
    log_id: _logId,
    home: _home,
    spread: _spread,
    ttl,
    synonyms,
    ...detail
  } = collection;
  const partitions = spreadOf(collection, store.shards.size);
  const isDamaged = quarantine.has(id);
  return {
    ...detail,
    ...(ttl && { ttl }),
    partitions,
    doc_count: documents,
    chunk_count: chunks,
    memory,
    ...(synonyms && synonyms.length > 0 && { synonyms }),
    ...(isDamaged && { damaged: true }),
  };
}

/** Returns the collection; creates it with the default settings if it is missing. */
export async function ensureCollection(
  context: CollectionsContext,
  tenant: Tenant,
  name: CollectionName,
): Promise<Collection> {
  return context.store.catalog.find(tenant, name) ?? (await createCollection(context, tenant, name, {}));
}

/** Returns the existing collection, or stores the planned one. Throws 429 `collection_limit_reached`. */
async function storeCollection(context: CollectionsContext, planned: Omit<Collection, 'id'>): Promise<Collection> {
  const { store, tenants, metrics } = context;
  const { catalog } = store;
  const { tenant, name } = planned;
  const { collectionsMax } = tenants.limitsOf(tenant);
  return (
    catalog.find(tenant, name) ??
    changeCatalog(store, 'createCollection', { collection: planned, collectionsMax }, ({ id }, { isNew }) => {
      if (isNew) metrics.count('collectionsCreated');
      return catalog.findById(id) as Collection;
    })
  );
}

/**
 * Returns the changed settings as stored. Throws 400 `invalid_display_name`, 404 `collection_not_found`, 422 for invalid
 * synonyms and for a body without a setting.
 */
export async function updateCollection(
  { store }: Pick<CollectionsContext, 'store'>,
  tenant: Tenant,
  name: CollectionName,
  { display_name: label, synonyms, ttl }: UpdateBody,
): Promise<UpdatedCollection> {
  if (label == null && synonyms == null && ttl === undefined)
    throw invalidField(['body'], 'Provide `display_name`, `synonyms` or `ttl`.', 'value_error');
  if (synonyms) checkSynonyms(synonyms);
  const changed = await change(store, store.catalog.get(tenant, name), {
    ...(label != null && { display_name: displayName(label) }),
    ...(synonyms && { synonyms }),
    ...(ttl !== undefined && { ttl: ttl ?? 0 }),
  });
  const { display_name, synonyms: kept = [], ttl: seconds } = changed;
  return { tenant, name, display_name, ...(synonyms && { synonyms: kept }), ...(seconds && { ttl: seconds }) };
}

/**
 * Throws 404 `collection_not_found`, 400 `move_invalid` if the name is the current one, and 409 `collection_conflict`
 * if the name is taken.
 */
export async function renameCollection(
  { store }: Pick<CollectionsContext, 'store'>,
  tenant: Tenant,
  name: CollectionName,
  newName: CollectionName,
): Promise<void> {
  const collection = store.catalog.get(tenant, name);
  if (newName === name) throw new AppError('move_invalid');
  await change(store, collection, { name: newName });
}

async function change(store: CatalogContext, found: Collection, wanted: CollectionChange): Promise<Collection> {
  const { catalog, events } = store;
  const changed = await asOfNow(store, found, (collection) =>
    changeCatalog(
      store,
      'updateCollection',
      { collection, change: wanted },
      ({ id }) => catalog.findById(id) as Collection,
    ),
  );
  const { tenant, name, display_name } = changed;
  events.publish(logIdOf(changed), 'collection', { change: 'settings', tenant, collection: name, display_name });
  return changed;
}

/**
 * Deletes the collection and all its documents at once; their space is reclaimed in the background. Throws 404
 * `collection_not_found`.
 */
export async function deleteCollection(
  { store }: Pick<CollectionsContext, 'store'>,
  tenant: Tenant,
  name: CollectionName,
): Promise<void> {
  await asOfNow(store, store.catalog.get(tenant, name), (collection) =>
    changeCatalog(store, 'deleteCollection', { collection }, (_, applied) =>
      forgetCollection(store, collection, applied),
    ),
  );
}

/** Creates the common collection if it is enabled and missing, even if its embedder does not answer yet. */
export async function ensureCommonCollection(context: CollectionsContext): Promise<void> {
  const { enabled, tenant, collection } = context.common;
  if (enabled)
    await storeCollection(context, plannedCollection(context, asTenant(tenant), asCollectionName(collection), {}));
}

interface CommonContext {
  readonly catalog: Pick<Catalog, 'find'>;
  readonly common: CommonCollection;
}

/** Returns undefined if the common collection is disabled or missing. */
export function findCommonCollection({ catalog, common }: CommonContext): Collection | undefined {
  return common.enabled ? catalog.find(asTenant(common.tenant), asCollectionName(common.collection)) : undefined;
}

/**
 * The common collection, to be searched in addition to `own`; undefined if there is none or if it is `own`. Throws
 * `incompatible_embedder_config` if the two have different vector spaces.
 */
export function commonBeside(context: CommonContext, own: Collection): Collection | undefined {
  const common = findCommonCollection(context);
  if (!common || common.id === own.id) return undefined;
  if (common.vector_space_key !== own.vector_space_key) throw new AppError('incompatible_embedder_config');
  return common;
}
