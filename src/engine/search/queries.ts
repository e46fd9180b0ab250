// Several queries in one search: each ranks the collection as a search of its own would, and the best hits of all are
// fused, by reciprocal ranks (Cormack, Clarke, Büttcher 2009) or by scores. All of them rank the same views, so a hit is
// of one version of its document whichever queries found it. Priorities act in the search of each query, and not again
// on the fused score. Pure; any thread.
import { type FoundByQuery, queriesScore } from '../../ranking/scores.js';
import { type Locate, type Ranking, type ScoredHit, inOrder } from './merge.js';
import { type CollectionSearch, type FusedQueries, depthOf } from './params.js';

/**
 * A ranking of the hits of all queries. It is the same for every depth that is asked for, and is made once. `rank` ranks
 * the collection by one query; `at` is where its examples stand in the request.
 */
export function fusedRanking(
  locate: Locate,
  search: CollectionSearch,
  { queries, fusion, depth }: FusedQueries,
  rank: (query: CollectionSearch, at: readonly (string | number)[]) => Ranking,
): () => Ranking {
  let made: Ranking | undefined;
  const make = (): Ranking => {
    const rankings = queries.map((own, i) => {
      const query = { ...search, ...own, depth: depthOf(depth, own.lexical !== undefined) };
      return rank(query, ['body', 'queries', i, 'like']);
    });
    const found = new Map<string, { hit: ScoredHit; by: FoundByQuery[] }>();
    rankings.forEach(({ hits }, query) => {
      const weight = queries[query]?.weight ?? 1;
      hits.slice(0, depth).forEach((hit, i) => {
        const { shard, ordinal } = hit.candidate;
        const key = `${shard}/${ordinal}`;
        const known = found.get(key) ?? { hit, by: [] };
        found.set(key, known);
        known.by.push({ query, rank: i + 1, score: hit.score, weight });
      });
    });
    const hits = [...found.values()].map(({ hit: { candidate }, by }): ScoredHit => {
      return { candidate, score: queriesScore(fusion, by), basis: { mode: 'queries', fusion, found: by } };
    });
    return { lists: rankings[0]?.lists ?? [], hits: inOrder(locate, hits), isWhole: true };
  };
  return () => (made ??= make());
}
