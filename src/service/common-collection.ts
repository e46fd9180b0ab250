// The common collection, which every tenant may search: by `/v1/search`, and beside a collection of its own by
// `include_common`. Made at start where it is enabled. Front thread.
import { AppError } from '../contract/errors.js';
import { asCollectionName, asTenant } from '../contract/ids.js';
import type { Collection } from '../contract/resources.js';
import type { Context } from './context.js';
import { plannedCollection, storeCollection } from './create-collection.js';

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
