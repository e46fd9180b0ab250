// Use case: create a collection, or find that it is there with the same settings.
// Called by the create endpoint and by ingest, which creates what is missing; front thread.
import type { CollectionName, Tenant } from '../contract/ids.js';
import type { Collection, StoredCollection } from '../contract/resources.js';
import { SCHEMA_VERSION, SERVICE_VERSION } from '../contract/version.js';
import { assertSameSettings, settingsOf, type CreateOptions } from './collection-settings.js';
import { changeCatalog } from './change-catalog.js';
import type { Context } from './context.js';

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
export async function storeCollection(context: Context, planned: Omit<Collection, 'id'>): Promise<Collection> {
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
