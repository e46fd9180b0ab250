// Makes a shard usable after its worker has claimed it, at start and after a worker's death: shard 0 brings the catalog,
// every shard then loads its part of the collections.
import { decodeCollections } from '../store/catalog-records.js';
import { ensureCommonCollection } from './common-collection.js';
import type { Context } from './context.js';

export async function openShard({ catalog, shards, tenants }: Pick<Context, 'catalog' | 'shards' | 'tenants'>, shard: number): Promise<void> {
  // Tenants first: no request is answered before the catalog is there.
  if (shard === 0) tenants.load(await shards.ask(0, 'loadTenants', {}));
  if (shard === 0) catalog.load(decodeCollections(await shards.ask(0, 'loadCatalog', {})));
  await catalog.whenLoaded;
  await shards.ask(shard, 'open', { collections: catalog.groups() });
}

/** What there is to do once a shard takes every command. */
export async function afterOpening(context: Context, shard: number): Promise<void> {
  await dropAgain(context, shard);
  if (shard === 0) await ensureCommonCollection(context);
}

/** What was dropped while the shard was away has come back with it. */
async function dropAgain({ catalog, shards }: Context, shard: number): Promise<void> {
  for (const collection of catalog.toDrop) await shards.ask(shard, 'dropCollection', { collection });
}
