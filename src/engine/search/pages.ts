// Pages of a ranking, by `offset` or by a cursor. A deeper ranking may order its hits a little differently: the modes
// boost and hybrid take more candidates, and a graph search finds more. Therefore the hits of all pages are those of one
// sequence: the first k of the ranking for k hits, then those of the ranking for 10 k that are new, then of 100 k, and so
// on. Pages of equal size neither repeat a hit nor leave one out while the data do not change. Pure; any thread.
import { REACH_MAX } from '../../api/limits.js';
import { type CollectionSearch, type ResultSettings, depthOf } from './params.js';
import type { Ranking, ScoredHit } from './merge.js';

const WINDOW_GROWTH = 10;

/** The hits of one page, and whether more follow. `rank` ranks the collection by a search with another depth. */
export function pageOf(
  search: CollectionSearch,
  { offset, page, minScore = -Infinity }: ResultSettings,
  rank: (asked: CollectionSearch) => Ranking,
): Ranking & { hasMore: boolean } {
  const end = offset + search.k;
  const taken: ScoredHit[] = [];
  const seen = new Set<string>();
  let first: Ranking | undefined;
  for (let window = Math.min(page, REACH_MAX); ; window = Math.min(WINDOW_GROWTH * window, REACH_MAX)) {
    // One hit more than the window tells whether more follow; a reordered ranking has more anyway.
    const depth = search.lexical ? depthOf(window, true) : window + 1;
    const ranking = rank({ ...search, depth });
    first ??= ranking;
    const fresh = ranking.hits.filter((hit) => hit.score >= minScore && !seen.has(keyOf(hit)));
    const added = fresh.slice(0, window - taken.length);
    for (const hit of added) seen.add(keyOf(hit));
    taken.push(...added);
    const isExhausted = added.length === fresh.length;
    if (taken.length >= end || isExhausted || window === REACH_MAX)
      return { lists: first.lists, hits: taken.slice(offset, end), hasMore: taken.length > end || !isExhausted };
  }
}

const keyOf = ({ candidate: { shard, ordinal } }: ScoredHit): string => `${shard}/${ordinal}`;
