// How much there is of a collection: documents, chunks, and the memory of its parts, summed over all shards. Front thread.
import type { Collection, CollectionDetail, MemoryUse } from '../../api/collections.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import type { ShardCounts } from '../../engine/write/commands.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import type { CollectionsContext } from './collections.js';

interface UsageContext {
  readonly shards: Pick<ShardPool, 'askAll'>;
}

/** Of each shard. */
export async function countsPerShard({ shards }: UsageContext, { id }: Pick<Collection, 'id'>): Promise<ShardCounts[]> {
  const answers = await Promise.all(shards.askAll('counts', { collections: [id] }));
  return answers.map(([counts]) => counts ?? { documents: 0, chunks: 0 });
}

export async function countCollection(context: UsageContext, collection: Pick<Collection, 'id'>): Promise<ShardCounts> {
  const total: ShardCounts = { documents: 0, chunks: 0 };
  for (const { documents, chunks } of await countsPerShard(context, collection)) {
    total.documents += documents;
    total.chunks += chunks;
  }
  return total;
}

async function collectionMemory({ shards }: UsageContext, { id }: Collection): Promise<MemoryUse> {
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
  { store, quarantine }: CollectionsContext,
  tenant: Tenant,
  name: CollectionName,
): Promise<CollectionDetail> {
  const collection = store.catalog.get(tenant, name);
  const [{ documents, chunks }, memory] = await Promise.all([
    countCollection(store, collection),
    collectionMemory(store, collection),
  ]);
  const { id, dim: _dim, generation: _generation, log_id: _logId, ...detail } = collection;
  const isDamaged = quarantine.has(id);
  return { ...detail, doc_count: documents, chunk_count: chunks, memory, ...(isDamaged && { damaged: true }) };
}
