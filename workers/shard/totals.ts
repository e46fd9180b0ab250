// Documents and chunks of all collections in this shard together: for the metrics, in one answer however many there are.
// Called by commands.ts. Shard worker only.
import type { ShardCounts } from '../../src/contract/messages.js';
import type { Shard } from './shard.js';

export function totals(shard: Shard): ShardCounts {
  const sum: ShardCounts = { documents: 0, chunks: 0 };
  for (const { counts } of shard.allParts()) {
    sum.documents += counts.documents;
    sum.chunks += counts.chunks;
  }
  return sum;
}
