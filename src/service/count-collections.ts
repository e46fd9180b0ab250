// Documents and chunks of collections, summed over all shards.
// Called by the detail endpoint; front thread.
import type { ShardCounts } from '../contract/messages.js';
import type { Collection } from '../contract/resources.js';
import type { Context } from './context.js';

export async function countCollection({ shards }: Context, { id }: Collection): Promise<ShardCounts> {
  const answers = await Promise.all(shards.askAll('counts', { collections: [id] }));
  const total: ShardCounts = { documents: 0, chunks: 0 };
  for (const [counts] of answers) {
    total.documents += counts?.documents ?? 0;
    total.chunks += counts?.chunks ?? 0;
  }
  return total;
}
