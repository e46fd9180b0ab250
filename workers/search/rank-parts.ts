// The rankings of all parts of a collection, one arena of a shard after the other. Each is searched for its share of
// the best, since chunks are spread over shards by chance; one that has more of them, as when all of a document's
// chunks are the best, is searched again as if it were alone. Search workers only; called by search.ts.
import type { ShardHits, ShardSearch } from '../../src/contract/ranking.js';
import type { RankedShard } from '../../src/contract/search-messages.js';
import { mergeRanked } from '../../src/rank/merge.js';
import { hitsIn } from '../../src/rank/share.js';
import { rankPart, withVectorAnew } from './rank-part.js';
import type { ShardView } from './shard-view.js';

/**
 * Those of `views`, of all shards and in the same places. What is in `ranked` is not ranked again, unless its memory
 * has been made anew.
 */
export function rankParts(
  views: readonly ShardView[],
  search: ShardSearch,
  ranked: readonly RankedShard[] = [],
): ShardHits[] {
  const chunks = chunksIn(views);
  const lists = views.map((view) => rankedBefore(views, view, ranked) ?? rankPart(view, search, chunks));
  if (!isShared(views, search)) return lists;
  const found = bestIn(lists, search.k);
  return lists.map((list, i) =>
    (found[i] as number) > hitsIn(search.k, list.chunks / chunks)
      ? withVectorAnew(views[i] as ShardView, search, list)
      : list,
  );
}

/** Those of some shards; `views` are of all. */
export function rankShards(views: readonly ShardView[], search: ShardSearch, shards: readonly number[]): RankedShard[] {
  const chunks = chunksIn(views);
  return views
    .filter(({ shard }) => shards.includes(shard))
    .map((view) => ({
      shard: view.shard,
      arena: view.arena,
      incarnation: view.incarnation,
      hits: rankPart(view, search, chunks),
    }));
}

const chunksIn = (views: readonly ShardView[]): number =>
  views.reduce((sum, { part }) => sum + (part?.index.liveCount ?? 0), 0);

/** A shard is ranked again as a whole: documents move between its arenas. */
function rankedBefore(
  views: readonly ShardView[],
  view: ShardView,
  ranked: readonly RankedShard[],
): ShardHits | undefined {
  const find = (one: ShardView): ShardHits | undefined =>
    ranked.find(
      ({ shard, arena, incarnation }) => shard === one.shard && arena === one.arena && incarnation === one.incarnation,
    )?.hits;
  return views.every((one) => one.shard !== view.shard || find(one)) ? find(view) : undefined;
}

/**
 * Whether the parts have been searched for shares: breadths that are asked for, and those of filters, are not divided.
 */
const isShared = ({ length }: readonly ShardView[], { vector, narrowing, ef, exact }: ShardSearch): boolean =>
  length > 1 && vector !== undefined && narrowing === undefined && ef === undefined && !exact;

/** How many of the k best by vector each list has. */
function bestIn(lists: readonly ShardHits[], k: number): number[] {
  const counts = lists.map(() => 0);
  for (const { shard } of mergeRanked(
    lists.map(({ vector }) => vector.scores),
    k,
  ))
    counts[shard]!++;
  return counts;
}
