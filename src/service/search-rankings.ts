// What the shards rank by in a search: its vector, its words, or both, as the mode and the weights of its halves say. Called by the
// search use case, on the front thread.
import { QUERY_CHARACTERS_MAX, QUERY_TOKENS_MAX } from '../contract/limits.js';
import type { FusionSettings, HybridQuery, LexicalQuery } from '../contract/ranking.js';
import type { Collection, SearchMode } from '../contract/resources.js';
import { questionTerms } from '../text/rank-terms.js';
import { distinctTokens } from '../text/tokenize.js';
import type { Context } from './context.js';
import { lexicalStatistics } from './lexical-statistics.js';
import { checkHasText, queryVector, type Sought } from './query-vector.js';

export interface Rankings {
  /** Absent: the hits are ranked by words alone, as mode hybrid ranks by them. */
  vector?: Float32Array;
  /** Of modes boost and hybrid. */
  lexical?: LexicalQuery;
}

/** `unwanted`: the vectors weigh nothing. `unavailable`: the embedder does not answer, and the words may rank alone. */
export type EmbeddedQuery = Float32Array | 'unwanted' | 'unavailable';

/** Throws as queryVector does. Words that weigh nothing do not rank alone. */
export async function vectorOf(context: Context, collection: Collection, mode: SearchMode, { weights }: FusionSettings, sought: Sought): Promise<EmbeddedQuery> {
  if (mode === 'hybrid' && weights.vector === 0) {
    checkHasText(collection);
    return 'unwanted';
  }
  return (await queryVector(context, collection, weights.lexical === 0 ? 'vector' : mode, sought)) ?? 'unavailable';
}

/** Where there is no vector, the words rank alone, as they do in mode hybrid. */
export async function rankingsOf(context: Context, collection: Collection, mode: SearchMode, { weights }: FusionSettings, { q }: Sought, embedded: Promise<EmbeddedQuery>): Promise<Rankings> {
  const text = weights.lexical === 0 ? '' : wordsOfQuery(q);
  const [vector, hybrid] = await Promise.all([embedded, mode === 'hybrid' ? hybridQuery(context, collection, text) : undefined]);
  if (typeof vector === 'string') return mode === 'vector' ? {} : { lexical: hybrid ?? (await hybridQuery(context, collection, text)) };
  const lexical = mode === 'boost' ? ({ mode, terms: distinctTokens(wordsOfQuery(q), QUERY_TOKENS_MAX) } as const) : hybrid;
  return { vector, ...(lexical && { lexical }) };
}

/** As much of a query as words are looked for in. */
export const wordsOfQuery = (q = ''): string => q.slice(0, QUERY_CHARACTERS_MAX);

export async function hybridQuery(context: Context, collection: Collection, text: string): Promise<HybridQuery> {
  const terms = questionTerms(text, QUERY_TOKENS_MAX, collection.language);
  return { mode: 'hybrid', terms, statistics: await lexicalStatistics(context, collection, terms) };
}
