// Sizes of a collection, summed over its shards: documents, chunks, and the memory of its segments. Runs on the main
// thread.
import type { Collection, MemoryUse, ShardMemory } from '../../api/collections.js';
import type { Placement } from '../../api/placement.js';
import type { ShardCounts } from '../../engine/write/commands.js';
import type { ShardPool } from '../../pool/shard-pool.js';

interface UsageContext {
  readonly shards: Pick<ShardPool, 'requestOf'>;
}

/** Counts of documents and chunks in each shard of the collection, in the order of its shards. */
export async function countsPerShard({ shards }: UsageContext, collection: Placement): Promise<ShardCounts[]> {
  const answers = await Promise.all(shards.requestOf(collection, 'counts', { collections: [collection.id] }));
  return answers.map(([counts]) => counts ?? { documents: 0, chunks: 0 });
}

export async function countCollection(context: UsageContext, collection: Placement): Promise<ShardCounts> {
  const total: ShardCounts = { documents: 0, chunks: 0 };
  for (const { documents, chunks } of await countsPerShard(context, collection)) {
    total.documents += documents;
    total.chunks += chunks;
  }
  return total;
}

export async function collectionMemory({ shards }: UsageContext, collection: Collection): Promise<MemoryUse> {
  const parts = await Promise.all(shards.requestOf(collection, 'memory', { collection: collection.id }));
  const total: ShardMemory = { vectors: 0, quantized_vectors: 0, graph: 0, postings: 0, text: 0 };
  for (const part of parts) for (const what of Object.keys(total) as (keyof ShardMemory)[]) total[what] += part[what];
  return { ...total, codes: total.quantized_vectors };
}
