// Makes a shard usable after its worker has claimed it, at start and after a worker's death: shard 0 brings the catalog,
// every shard then loads its part of the collections.
import type { Context } from './context.js';

export async function openShard({ catalog, shards }: Pick<Context, 'catalog' | 'shards'>, shard: number): Promise<void> {
  if (shard === 0) catalog.load(await shards.ask(0, 'loadCatalog', {}));
  await catalog.whenLoaded;
  await shards.ask(shard, 'open', { collections: catalog.refs() });
}

/** What was dropped while the shard was away has come back with it. */
export async function dropAgain({ catalog, shards }: Pick<Context, 'catalog' | 'shards'>, shard: number): Promise<void> {
  for (const collection of catalog.toDrop) await shards.ask(shard, 'dropCollection', { collection });
}
