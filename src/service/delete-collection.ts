// Use case: delete a collection with every document in it. Gone at once; its space is reclaimed in the background.
// Called by the delete endpoint; front thread.
import type { CollectionName, Tenant } from '../contract/ids.js';
import { AppError } from '../contract/errors.js';
import type { Context } from './context.js';

/** Throws 404 `collection_not_found`. */
export async function deleteCollection({ catalog, shards, log }: Context, tenant: Tenant, name: CollectionName): Promise<void> {
  const collection = catalog.get(tenant, name);
  await shards.ask(0, 'deleteCollection', { collection });
  catalog.remove(collection);
  const told = shards.askAll('dropCollection', { collection: collection.id });
  for (const result of await Promise.allSettled(told)) {
    if (result.status === 'fulfilled') continue;
    catalog.toDrop.add(collection.id);
    if (!(result.reason instanceof AppError)) log.error({ reason: String(result.reason) }, 'a shard could not be told of a dropped collection');
  }
}
