// What the hits of a search are asked to tell beside their score: its parts, their relevance, the best passage. Made from what the
// search ranks by, on the front thread; the shards answer it when they hydrate. Called by search.ts and search-shards.ts.
import type { Telling } from '../contract/api/search.js';
import type { DetailsWanted } from '../contract/hits.js';
import { QUERY_TOKENS_MAX } from '../contract/limits.js';
import type { CosineSample, HybridQuery, ShardHits } from '../contract/ranking.js';
import type { Collection } from '../contract/resources.js';
import { idfsOf } from '../rank/bm25.js';
import { questionTerms } from '../text/rank-terms.js';
import type { Context } from './context.js';
import { hybridQuery, wordsOfQuery, type Rankings } from './search-rankings.js';

/** undefined where nothing is asked for. A relevance looks at words whatever the mode does. */
export async function detailsOf(context: Context, collection: Collection, { explain, relevance, highlight }: Telling, q: string | undefined, { lexical }: Rankings): Promise<DetailsWanted | undefined> {
  if (!explain && !relevance && !highlight) return undefined;
  const ranked = lexical?.mode === 'hybrid' ? lexical : undefined;
  const words = ranked ?? (relevance && q !== undefined ? await hybridQuery(context, collection, wordsOfQuery(q)) : undefined);
  return {
    explain,
    ...(words && { words: { terms: words.terms, statistics: words.statistics } }),
    ...(relevance && { relevance: {} }),
    ...(highlight && q !== undefined && { highlight: sought(collection, q, words) }),
  };
}

/** Rare terms weigh more, where it is known which are. */
function sought({ language }: Collection, q: string, words: HybridQuery | undefined): NonNullable<DetailsWanted['highlight']> {
  if (!words || words.terms.length === 0) return { terms: questionTerms(wordsOfQuery(q), QUERY_TOKENS_MAX, language), language };
  return { terms: words.terms, language, weights: idfsOf(words.statistics) };
}

/** With the cosines that the query has with any chunk, for a relevance. */
export function measured(details: DetailsWanted, lists: readonly ShardHits[], query: Float32Array | undefined): DetailsWanted {
  if (!details.relevance || !query) return details;
  const samples = lists.flatMap(({ sample }) => sample ?? []);
  const total = (of: (sample: CosineSample) => number): number => samples.reduce((sum, sample) => sum + of(sample), 0);
  const mean = total(({ sum }) => sum) / Math.max(1, total(({ count }) => count));
  return { ...details, relevance: { vector: { query, mean } } };
}
