// What a search ranks by: its vector, its words, or both, as the mode and the weights of its halves say. Called by the
// search use case, on the front thread.
import type { Language } from '../contract/language.js';
import { QUERY_CHARACTERS_MAX, QUERY_TOKENS_MAX } from '../contract/limits.js';
import type { QueryTerms } from '../text/rank-terms.js';
import type { FusionSettings } from '../contract/api/search.js';
import type { Collection, SearchMode } from '../contract/resources.js';
import type { LexicalSearch } from '../contract/search-messages.js';
import { countedTerms } from '../text/rank-terms.js';
import { distinctTokens } from '../text/tokenize.js';
import type { Context } from './context.js';
import { checkHasText, queryVector, type Sought } from './query-vector.js';

export interface Rankings {
  /** Absent: the hits are ranked by words alone, as mode hybrid ranks by them. */
  vector?: Float32Array;
  /** Of modes boost and hybrid. */
  lexical?: LexicalSearch;
}

/** `unwanted`: the vectors weigh nothing. `unavailable`: the embedder does not answer, and the words may rank alone. */
export type EmbeddedQuery = Float32Array | 'unwanted' | 'unavailable';

/** Throws as queryVector does. Words that weigh nothing do not rank alone. */
export async function vectorOf(
  context: Context,
  collection: Collection,
  mode: SearchMode,
  { weights }: FusionSettings,
  sought: Sought,
): Promise<EmbeddedQuery> {
  if (mode === 'hybrid' && weights.vector === 0) {
    checkHasText(collection);
    return 'unwanted';
  }
  return (await queryVector(context, collection, weights.lexical === 0 ? 'vector' : mode, sought)) ?? 'unavailable';
}

/** Where there is no vector, the words rank alone, as they do in mode hybrid. */
export function rankingsOf(
  { language }: Collection,
  mode: SearchMode,
  { weights }: FusionSettings,
  { q }: Sought,
  vector: EmbeddedQuery,
): Rankings {
  const hybrid = (): LexicalSearch => ({
    mode: 'hybrid',
    ...(weights.lexical === 0 ? { terms: [], counts: [] } : termsOf(q, language)),
  });
  if (typeof vector === 'string') return mode === 'vector' ? {} : { lexical: hybrid() };
  if (mode === 'vector') return { vector };
  return {
    vector,
    lexical: mode === 'boost' ? { mode, terms: distinctTokens(wordsOfQuery(q), QUERY_TOKENS_MAX) } : hybrid(),
  };
}

/** The terms of a query that mode hybrid ranks by. */
export const termsOf = (q: string | undefined, language: Language): QueryTerms =>
  countedTerms(wordsOfQuery(q), QUERY_TOKENS_MAX, language);

/** As much of a query as words are looked for in. */
const wordsOfQuery = (q = ''): string => q.slice(0, QUERY_CHARACTERS_MAX);
