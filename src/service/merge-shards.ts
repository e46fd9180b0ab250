// One ranking out of those of all shards: best first, equal scores by document id and chunk order, so that the answer does not
// depend on how many shards there are. Used by search-shards.ts, on the front thread.
import type { Ordinal } from '../contract/ids.js';
import type { ChunkPosition, RankedList } from '../contract/ranking.js';
import type { Collection } from '../contract/resources.js';
import { comparePositions, crossShardTies, mergeRanked, type Place } from '../rank/merge.js';
import type { Context } from './context.js';
import { perShard } from './per-shard.js';

/** A chunk as a shard has ranked it. */
export interface Candidate {
  readonly shard: number;
  readonly ordinal: Ordinal;
  readonly stamp: number;
  readonly score: number;
  /** NaN where no ranking knows it. */
  readonly cosine: number;
  /** BM25 of a vector candidate, where both scores were asked for. */
  readonly words: number;
  readonly priority: number;
  /** Terms of the query it has; 0 where they were not counted. */
  readonly matched: number;
}

type Shards = Context['shards'];

/** The k best of `lists`, of which each is one shard's. */
export async function mergeShards(shards: Shards, collection: Collection, lists: readonly RankedList[], k: number): Promise<Candidate[]> {
  const scores = lists.map((list) => list.scores);
  const places = mergeRanked(scores, k);
  for (const [start, end] of crossShardTies(scores, places, k)) {
    const tied = places.slice(start, end);
    const positions = await locate(shards, collection, tied.map((place) => candidateAt(lists, place)));
    const order = tied.map((place, i) => ({ place, position: positions[i] as ChunkPosition }));
    order.sort((a, b) => comparePositions(a.position, b.position));
    places.splice(start, end - start, ...order.map(({ place }) => place));
  }
  return places.slice(0, k).map((place) => candidateAt(lists, place));
}

/** Where chunks stand in their documents. */
export function locate(shards: Shards, { id }: Collection, candidates: readonly Candidate[]): Promise<ChunkPosition[]> {
  return perShard(candidates, (shard, ofShard) => shards.ask(shard, 'locate', { collection: id, ordinals: Uint32Array.from(ofShard, ({ ordinal }) => ordinal) }));
}

function candidateAt(lists: readonly RankedList[], { shard, at }: Place): Candidate {
  const { ordinals, stamps, scores, cosines, words, priorities, matched } = lists[shard] as RankedList;
  return {
    shard,
    ordinal: ordinals[at] as Ordinal,
    stamp: stamps[at] as number,
    score: scores[at] as number,
    cosine: cosines[at] as number,
    words: words?.[at] ?? NaN,
    priority: priorities?.[at] ?? 0,
    matched: matched?.[at] ?? 0,
  };
}
