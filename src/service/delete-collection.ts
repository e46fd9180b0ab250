// Use case: delete a collection with every document in it. Gone at once; its space is reclaimed in the background.
// Called by the delete endpoint; front thread.
import type { CollectionName, Tenant } from '../contract/ids.js';
import { logIdOf, type Collection, type CollectionKey } from '../contract/resources.js';
import { asOfNow } from './as-of-now.js';
import { changeCatalog } from './change-catalog.js';
import type { Context } from './context.js';
import { dropFromShards } from './drop-from-shards.js';
import { endJobsOf } from './reindex/end-job.js';

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
