// What a search knows before it ranks: the statistics of its words over all shards, and what its hits shall tell by
// them. Search workers only; called by search.ts.
import type { DetailsWanted } from '../../src/contract/hits.js';
import type { LexicalStatistics } from '../../src/contract/ranking.js';
import type { CollectionSearch, DetailsAsked } from '../../src/contract/search-messages.js';
import { idfsOf, sumStatistics } from '../../src/rank/bm25.js';
import type { ShardView } from './shard-view.js';

export interface Known {
  /** Of the terms that are ranked by. */
  statistics: LexicalStatistics;
  details: DetailsWanted | undefined;
}

/** `views`: of all shards. */
export function knownOf(views: readonly ShardView[], { lexical, details, vector }: CollectionSearch): Known {
  const { terms, counts } = (lexical?.mode === 'hybrid' ? lexical : details?.words) ?? { terms: [], counts: [] };
  const statistics = sumStatistics(
    terms.length > 0 ? views.flatMap(({ part }) => part?.words?.statistics(terms) ?? []) : [],
    counts,
  );
  return { statistics, details: details && detailsWanted(details, statistics, vector) };
}

/**
 * The words of the details are those that are ranked by, where any are. Rare terms are marked sooner, where it is known
 * which are.
 */
function detailsWanted(
  { explain, relevance, highlight, words }: DetailsAsked,
  statistics: LexicalStatistics,
  vector: Float32Array | undefined,
): DetailsWanted {
  return {
    explain,
    ...(words && { words: { terms: words.terms, statistics } }),
    ...(relevance && { relevance: vector ? { vector: { query: vector, mean: 0 } } : {} }),
    ...(highlight && {
      highlight:
        words && words.terms.length > 0 ? { ...highlight, terms: words.terms, weights: idfsOf(statistics) } : highlight,
    }),
  };
}
