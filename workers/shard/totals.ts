// Documents and chunks as the store counts them: of some collections, and of all in this shard together, in one answer
// however many there are. Nothing is loaded for it.
// Called by commands.ts. Shard worker only.
import type { ShardAnswer, ShardCounts } from '../../src/contract/messages.js';
import type { CollectionId } from '../../src/contract/ids.js';
import type { Shard } from './shard.js';

export function countsOf(shard: Shard, ids: readonly CollectionId[]): ShardCounts[] {
  return shard.store.read((txn) =>
    ids.map((id) => {
      const { documents, chunks } = txn.counts(id);
      return shard.isDropped(id) ? { documents: 0, chunks: 0 } : { documents, chunks };
    }),
  );
}

export function totals(shard: Shard, without: readonly CollectionId[]): ShardAnswer<'totals'> {
  const others = new Set(without);
  const memoryBytes = shard.arenas.used().reduce((bytes, kernel) => bytes + kernel.usedBytes(), 0);
  const sum = { documents: 0, chunks: 0, memoryBytes };
  shard.store.read((txn) => {
    for (const { id, documents, chunks } of txn.allCounts()) {
      if (shard.isDropped(id) || others.has(id)) continue;
      sum.documents += documents;
      sum.chunks += chunks;
    }
  });
  return sum;
}
