// How much there is of everything: tenants, collections, documents, chunks. The catalog knows the first two; the shards
// are asked for the sums of theirs, one message each, however many collections there are. For the metrics; front
// thread.
import type { Collection, CollectionDetail, MemoryUse } from '../../api/collections.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import type { ShardCounts } from '../../engine/write/commands.js';
import type { Context } from '../context.js';

export interface Inventory extends ShardCounts {
  tenants: number;
  collections: number;
}

/** A shard that is away counts with what it had when it was last asked. */
export async function takeInventory({ catalog, staged, shards, shardTotals }: Context): Promise<Inventory> {
  const answers = await Promise.allSettled(
    shards.askAll('totals', { without: Array.from(staged.all(), ({ id }) => id) }),
  );
  answers.forEach((answer, shard) => {
    if (answer.status === 'fulfilled') shardTotals.set(shard, answer.value);
  });
  const sum = { ...catalog.size(), documents: 0, chunks: 0 };
  for (const { documents, chunks } of shardTotals.values()) {
    sum.documents += documents;
    sum.chunks += chunks;
  }
  return sum;
}

// Documents and chunks of collections, summed over all shards.
// Called by the detail endpoint; front thread.

export async function countCollection({ shards }: Context, { id }: Collection): Promise<ShardCounts> {
  const answers = await Promise.all(shards.askAll('counts', { collections: [id] }));
  const total: ShardCounts = { documents: 0, chunks: 0 };
  for (const [counts] of answers) {
    total.documents += counts?.documents ?? 0;
    total.chunks += counts?.chunks ?? 0;
  }
  return total;
}

// What a collection takes of the memory of all shards together.
// Called by the detail endpoint; front thread.

async function collectionMemory({ shards }: Context, { id }: Collection): Promise<MemoryUse> {
  const parts = await Promise.all(shards.askAll('memory', { collection: id }));
  const total: MemoryUse = { vectors: 0, codes: 0, graph: 0, postings: 0, text: 0 };
  for (const part of parts) for (const what of Object.keys(total) as (keyof MemoryUse)[]) total[what] += part[what];
  return total;
}

/**
 * The catalog's record without what is only the server's, and what there is of the collection. Throws 404
 * `collection_not_found`.
 */
export async function describeCollection(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
): Promise<CollectionDetail> {
  const collection = context.catalog.get(tenant, name);
  const [{ documents, chunks }, memory] = await Promise.all([
    countCollection(context, collection),
    collectionMemory(context, collection),
  ]);
  const { id, dim: _dim, generation: _generation, log_id: _logId, ...detail } = collection;
  const isDamaged = context.quarantine.has(id);
  return { ...detail, doc_count: documents, chunk_count: chunks, memory, ...(isDamaged && { damaged: true }) };
}
