// How much there is of everything: tenants, collections, documents, chunks. The catalog knows the first two; the shards
// are asked for the sums of theirs, one message each, however many collections there are. For the metrics; front
// thread.
import type { ShardCounts } from '../contract/messages.js';
import type { Context } from './context.js';

export interface Inventory extends ShardCounts {
  tenants: number;
  collections: number;
}

/** A shard that is away counts with what it had when it was last asked. */
export async function takeInventory({ catalog, staged, shards, metrics }: Context): Promise<Inventory> {
  const answers = await Promise.allSettled(
    shards.askAll('totals', { without: Array.from(staged.all(), ({ id }) => id) }),
  );
  answers.forEach((answer, shard) => {
    if (answer.status === 'fulfilled') metrics.shardTotals.set(shard, answer.value);
  });
  const sum = { ...catalog.size(), documents: 0, chunks: 0 };
  for (const { documents, chunks } of metrics.shardTotals.values()) {
    sum.documents += documents;
    sum.chunks += chunks;
  }
  return sum;
}
