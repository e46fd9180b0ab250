// Puts hits of equal score in the order of the contract, by document id and chunk order, which only the records know.
// Shard worker only; called for the rankings of this shard, and by the front thread for ties between shards.
import type { CollectionId, Ordinal } from '../../src/contract/ids.js';
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import type { ChunkPosition } from '../../src/contract/ranking.js';
import { comparePositions } from '../../src/rank/merge.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';

interface Scored {
  readonly ordinal: Ordinal;
  readonly score: number;
}

/** Sorts best first; the records are read only where scores are equal. */
export function breakTies<S extends Scored>(shard: Shard, part: Part, scored: S[]): S[] {
  const tied = scored.some(({ score }, i) => i > 0 && score === scored[i - 1]?.score);
  if (!tied) return scored;
  return shard.store.read((txn) => {
    const positions = new Map(scored.map(({ ordinal }) => [ordinal, positionOf(txn, part.ref.id, ordinal)]));
    const at = ({ ordinal }: S): ChunkPosition => positions.get(ordinal) as ChunkPosition;
    return scored.sort((a, b) => b.score - a.score || comparePositions(at(a), at(b)));
  });
}

/** A chunk that has gone meanwhile sorts last. */
export function locate(shard: Shard, { collection, ordinals }: ShardRequest<'locate'>): ShardAnswer<'locate'> {
  const part = shard.part(collection);
  return shard.store.read((txn) =>
    [...(ordinals as unknown as Iterable<Ordinal>)].map((ordinal) =>
      part?.index.isLive(ordinal) ? positionOf(txn, collection, ordinal) : { docid: '\u{10ffff}', index: 0, path: '' },
    ),
  );
}

function positionOf(txn: ShardTxn, id: CollectionId, ordinal: Ordinal): ChunkPosition {
  const { docid, index, path } = txn.chunk(id, ordinal);
  return { docid, index, path };
}
