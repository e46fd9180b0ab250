// Which of the ranked hits an answer has: a page of them, groups, hits that are unlike each other, or boosted ones. Pure;
// any thread.
import { boostedRanking } from './boost.js';
import { diverseHits } from './diversity.js';
import { groupedHits } from './groups.js';
import type { HitReader, Ranking, Round } from './merge.js';
import { pageOf } from './pages.js';
import type { CollectionSearch, SortPosition } from './params.js';

/** The hits of an answer. */
export interface Selected extends Ranking {
  readonly hasMore?: boolean;
  readonly hasChanged?: boolean;
  readonly last?: SortPosition;
}

/** `ranked` ranks the collection by a search with another depth, in further rounds among other rows. */
export function selected(
  reader: HitReader,
  search: CollectionSearch,
  ranked: (asked: CollectionSearch, round?: Round) => Ranking,
): Selected {
  const { results, boostBy } = search;
  const rank = boostBy ? boostedRanking(reader, search, boostBy, ranked) : ranked;
  if (results?.group) return groupedHits(reader, search, { ...results, group: results.group }, rank);
  if (results?.diversity) return diverseHits(reader, search, { ...results, diversity: results.diversity }, rank);
  if (results) return pageOf(search, results, rank);
  const { lists, hits } = rank(search);
  return { lists, hits: hits.slice(0, search.k) };
}
