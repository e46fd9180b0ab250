// What the hits of a search are asked to tell beside their score: its parts, their relevance, the best passage. Made
// from what the search ranks by, on the front thread; the search workers answer it. Called by search.ts.
import type { Telling } from '../contract/api/search.js';
import type { Collection } from '../contract/resources.js';
import type { DetailsAsked } from '../contract/search-messages.js';
import { termsOf, type Rankings } from './search-rankings.js';

/** undefined where nothing is asked for. A relevance looks at words whatever the mode does. */
export function detailsOf(
  { language }: Collection,
  { explain, relevance, highlight }: Telling,
  q: string | undefined,
  { lexical }: Rankings,
): DetailsAsked | undefined {
  if (!explain && !relevance && !highlight) return undefined;
  const ranked = lexical?.mode === 'hybrid' ? { terms: lexical.terms, counts: lexical.counts } : undefined;
  const words = ranked ?? (relevance && q !== undefined ? termsOf(q, language) : undefined);
  return {
    explain,
    relevance,
    ...(words && { words }),
    ...(highlight && q !== undefined && { highlight: { terms: termsOf(q, language).terms, language } }),
  };
}
