// Use case: create a collection, or find that it is there with the same settings.
// Called by the create endpoint and by ingest, which creates what is missing; front thread.
import type { Collection } from '../../api/collections.js';
import {
  type CollectionChange,
  type CollectionKey,
  type StoredCollection,
  logIdOf,
} from '../../storage/catalog-commands.js';
import { SCHEMA_VERSION, SERVICE_VERSION } from '../../api/common.js';
import { AppError } from '../../api/errors.js';
import { type CollectionName, type Tenant, asCollectionName, asTenant } from '../../api/ids.js';
import type { Context } from '../context.js';
import { endJobsOf } from '../reindex/job-record.js';
import { asOfNow, changeCatalog, dropFromShards } from './catalog-changes.js';
import { type CreateOptions, assertSameSettings, displayName, settingsOf } from './settings.js';

/** A collection as it would be made; nothing is stored. Throws AppError for settings that cannot be. */
export function plannedCollection(
  { nowMs, chunking, search, embedders }: Context,
  tenant: Tenant,
  name: CollectionName,
  options: CreateOptions,
): Omit<Collection, 'id'> {
  return {
    tenant,
    name,
    display_name: name,
    ...settingsOf(options, embedders.spaceFor(tenant, options), chunking, search),
    created_at: new Date(nowMs()).toISOString(),
    service_version: SERVICE_VERSION,
    schema_version: SCHEMA_VERSION,
    generation: 1,
  };
}

/**
 * Creating is idempotent: with the same or no options an existing collection is answered; others are a conflict (400).
 * Throws 429 `collection_limit_reached`, and 503 `embedder_unavailable` where nothing could be embedded for it: then
 * there is no collection.
 */
export async function createCollection(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  options: CreateOptions,
): Promise<Collection> {
  const planned = plannedCollection(context, tenant, name, options);
  if (!context.catalog.find(tenant, name)) await context.embedders.preflight(planned, tenant);
  const collection = await storeCollection(context, planned);
  assertSameSettings(options, planned, collection);
  return collection;
}

/** The collection, made with the instance's defaults when it is missing: for ingest. */
export async function ensureCollection(context: Context, tenant: Tenant, name: CollectionName): Promise<Collection> {
  return context.catalog.find(tenant, name) ?? (await createCollection(context, tenant, name, {}));
}

/** The collection as it is, or as it was planned where it was missing. Throws 429 `collection_limit_reached`. */
async function storeCollection(context: Context, planned: Omit<Collection, 'id'>): Promise<Collection> {
  const { catalog, metrics } = context;
  const { tenant, name } = planned;
  const { collectionsMax } = context.tenants.limitsOf(tenant);
  const show = (stored: StoredCollection): Collection => {
    if (!catalog.find(tenant, name)) metrics.count('collectionsCreated');
    return catalog.put(stored);
  };
  return (
    catalog.find(tenant, name) ??
    changeCatalog(context, 'createCollection', { collection: planned, collectionsMax }, show)
  );
}

// Use cases: change the label of a collection, and rename it. Both are one write to the catalog; documents go by the
// collection's id and stay where they are. Called by the update and move endpoints; front thread.

/** The new label, as stored. Throws 400 `invalid_display_name`, 404 `collection_not_found`. */
export async function relabelCollection(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  label: string,
): Promise<string> {
  const changed = await change(context, context.catalog.get(tenant, name), { display_name: displayName(label) });
  return changed.display_name;
}

/**
 * Throws 404 `collection_not_found`, 400 `move_invalid` for its own name, 409 `collection_conflict` for one that is
 * taken.
 */
export async function renameCollection(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  newName: CollectionName,
): Promise<void> {
  const collection = context.catalog.get(tenant, name);
  if (newName === name) throw new AppError('move_invalid');
  await change(context, collection, { name: newName });
}

async function change(context: Context, found: Collection, wanted: CollectionChange): Promise<Collection> {
  const { catalog, staged, events } = context;
  const changed = await asOfNow(context, found, (collection) =>
    changeCatalog(context, 'updateCollection', { collection, change: wanted }, (stored) => {
      catalog.remove(collection);
      staged.rename(stored.id, stored);
      return catalog.put(stored);
    }),
  );
  const { tenant, name, display_name } = changed;
  events.publish(logIdOf(changed), 'collection', { change: 'settings', tenant, collection: name, display_name });
  return changed;
}

// Use case: delete a collection with every document in it. Gone at once; its space is reclaimed in the background.
// Called by the delete endpoint; front thread.

/** Throws 404 `collection_not_found`. */
export async function deleteCollection(context: Context, tenant: Tenant, name: CollectionName): Promise<void> {
  await asOfNow(context, context.catalog.get(tenant, name), (collection) =>
    changeCatalog(context, 'deleteCollection', { collection }, () => forgetCollection(context, collection)),
  );
}

/**
 * Takes a collection that is out of the stored catalog out of memory, here at once and then in the shards, with what is
 * staged beside it. Never rejects.
 */
export async function forgetCollection(
  context: Context,
  collection: CollectionKey & Pick<Collection, 'log_id'>,
): Promise<void> {
  const { catalog, staged, queryLog, metrics, events } = context;
  const besides = staged.beside(collection.id).filter(({ purpose }) => purpose !== 'restore');
  for (const { id } of besides) staged.remove(id);
  catalog.remove(collection);
  queryLog.forget(logIdOf(collection));
  events.publish(logIdOf(collection), 'collection', {
    change: 'deleted',
    tenant: collection.tenant,
    collection: collection.name,
  });
  events.end(logIdOf(collection));
  metrics.count('collectionsDeleted');
  await Promise.all([collection, ...besides].map(({ id }) => dropFromShards(context, id)));
  await endJobsOf(context, logIdOf(collection));
}

// The common collection, which every tenant may search: by `/v1/search`, and beside a collection of its own by
// `include_common`. Made at start where it is enabled. Front thread.

/**
 * Called whenever shard 0, the owner of the catalog, has opened. It is the operator's wish: made whether the embedder
 * answers yet or not.
 */
export async function ensureCommonCollection(context: Context): Promise<void> {
  const { enabled, tenant, collection } = context.common;
  if (enabled)
    await storeCollection(context, plannedCollection(context, asTenant(tenant), asCollectionName(collection), {}));
}

/** undefined while it is disabled or missing. */
export function findCommonCollection({ catalog, common }: Context): Collection | undefined {
  return common.enabled ? catalog.find(asTenant(common.tenant), asCollectionName(common.collection)) : undefined;
}

/**
 * The common collection, to be searched beside `own`; undefined where there is none other. Throws
 * `incompatible_embedder_config`.
 */
export function commonBeside(context: Context, own: Collection): Collection | undefined {
  const common = findCommonCollection(context);
  if (!common || common.id === own.id) return undefined;
  if (common.vector_space_key !== own.vector_space_key) throw new AppError('incompatible_embedder_config');
  return common;
}
