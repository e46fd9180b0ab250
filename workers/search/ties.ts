// Puts hits of equal score in the order of the contract, by document id and chunk order, which only the records know. Search workers
// only; called for the rankings of a shard, and where those of all shards are merged and scored.
import type { Ordinal } from '../../src/contract/ids.js';
import type { ChunkPosition } from '../../src/contract/ranking.js';
import { comparePositions } from '../../src/rank/merge.js';
import type { PartView } from '../shard/part-view.js';
import type { ShardView } from './shard-view.js';

interface Scored {
  readonly ordinal: Ordinal;
  readonly score: number;
}

/** Behind every other. */
export const GONE: ChunkPosition = { docid: '\u{10ffff}', index: 0, path: '' };

/** Sorts best first; the records are read only where scores are equal. */
export function breakTies<S extends Scored>(view: ShardView, part: PartView, scored: S[]): S[] {
  const tied = scored.some(({ score }, i) => i > 0 && score === scored[i - 1]?.score);
  if (!tied) return scored;
  const positions = new Map(scored.map(({ ordinal }) => [ordinal, positionOf(view, part, ordinal)]));
  const at = ({ ordinal }: S): ChunkPosition => positions.get(ordinal) as ChunkPosition;
  return scored.sort((a, b) => b.score - a.score || comparePositions(at(a), at(b)));
}

/** Where a chunk stands. One that has gone meanwhile stands last. */
export function positionOf(view: ShardView, part: PartView, ordinal: Ordinal): ChunkPosition {
  const chunk = view.txn.findChunk(part.id, part.stored(ordinal));
  return chunk ? { docid: chunk.docid, index: chunk.index, path: chunk.path } : GONE;
}
