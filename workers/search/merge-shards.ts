// One ranking out of those of all shards: best first, equal scores by document id and chunk order, so that the answer
// does not depend on how many shards there are. Search workers only; called by whoever has the rankings of all shards
// (finish.ts).
import type { Ordinal } from '../../src/contract/ids.js';
import type { ChunkPosition, RankedList } from '../../src/contract/ranking.js';
import { comparePositions, crossShardTies, mergeRanked, type Place } from '../../src/rank/merge.js';
import type { ShardView } from './shard-view.js';
import { GONE, positionOf } from './ties.js';

/** A chunk as a shard has ranked it. */
export interface Candidate {
  /** Place among the views of the search. */
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

/** The k best of `lists`, of which each is that of the view in its place. */
export function mergeShards(views: readonly ShardView[], lists: readonly RankedList[], k: number): Candidate[] {
  const scores = lists.map((list) => list.scores);
  const places = mergeRanked(scores, k);
  for (const [start, end] of crossShardTies(scores, places, k)) {
    const tied = places.slice(start, end);
    const order = tied.map((place) => ({ place, position: locate(views, candidateAt(lists, place)) }));
    order.sort((a, b) => comparePositions(a.position, b.position));
    places.splice(start, end - start, ...order.map(({ place }) => place));
  }
  return places.slice(0, k).map((place) => candidateAt(lists, place));
}

/** Where a chunk stands in its document. */
export function locate(views: readonly ShardView[], candidate: Candidate): ChunkPosition {
  const view = views[candidate.shard];
  return view?.part ? positionOf(view, view.part, candidate) : GONE;
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
