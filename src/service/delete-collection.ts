// Use case: delete a collection with every document in it. Gone at once; its space is reclaimed in the background.
// Called by the delete endpoint; front thread.
import type { CollectionName, Tenant } from '../contract/ids.js';
import { AppError } from '../contract/errors.js';
import type { CollectionKey } from '../contract/resources.js';
import type { Context } from './context.js';

/** Throws 404 `collection_not_found`. */
export async function deleteCollection(context: Context, tenant: Tenant, name: CollectionName): Promise<void> {
  const collection = context.catalog.get(tenant, name);
  await context.shards.ask(0, 'deleteCollection', { collection });
  await forgetCollection(context, collection);
}

/** Takes a collection that is out of the stored catalog out of memory, here and in the shards. Never rejects. */
export async function forgetCollection({ catalog, shards, queryLog, metrics, log }: Context, collection: CollectionKey): Promise<void> {
  catalog.remove(collection);
  queryLog.forget(collection.id);
  metrics.count('collectionsDeleted');
  const told = shards.askAll('dropCollection', { collection: collection.id });
  for (const result of await Promise.allSettled(told)) {
    if (result.status === 'fulfilled') continue;
    catalog.toDrop.add(collection.id);
    if (!(result.reason instanceof AppError)) log.error({ reason: String(result.reason) }, 'a shard could not be told of a dropped collection');
  }
}
