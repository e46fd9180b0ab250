// The answer of a search from its hydrated hits, and what of the query is computed over all shards. Pure; any thread.
import type { SearchTiming } from '../../api/search.js';
import type { ScoredHit } from './merge.js';
import type { CollectionSearch, CosineSample, Found, SearchedTerms } from './params.js';
import type { HydratedHit } from './payload.js';
import type { Selected } from './select.js';

/** The terms that a search ranks by or estimates relevance from. */
export const rankedTerms = ({ lexical, details }: Pick<CollectionSearch, 'lexical' | 'details'>): SearchedTerms =>
  (lexical?.mode === 'hybrid' ? lexical : details?.terms) ?? { terms: [], counts: [] };

/** The hits in the order of `hits`, without those that are not relevant or have changed; `isWhole` tells if none has. */
export function foundFrom(
  hydrated: readonly (HydratedHit | undefined)[],
  { hits, hasMore, last }: Selected,
  { withPieces }: Pick<CollectionSearch, 'withPieces'>,
  timing: SearchTiming,
): { found: Found; isWhole: boolean } {
  const found: Found = {
    ids: [],
    scores: [],
    json: [],
    ...(withPieces && { pieces: [] }),
    timing,
  };
  if (hasMore !== undefined) found.hasMore = hasMore;
  if (last) found.last = last;
  let isWhole = true;
  hydrated.forEach((hit, i) => {
    if (!hit) return void (isWhole = false);
    if (hit.isIrrelevant) return;
    found.ids.push(hit.id);
    found.scores.push((hits[i] as ScoredHit).score);
    found.json.push(hit.json);
    if (hit.pieces) found.pieces?.push(hit.pieces);
  });
  return { found, isWhole };
}

/**
 * Mean cosine of the query with any chunk, as the baseline of relevance. One more chunk with cosine 0 is counted, so
 * that the only chunk of a collection is not reported as merely average.
 */
export function meanCosineOf(samples: readonly CosineSample[]): number {
  const total = (of: (sample: CosineSample) => number): number => samples.reduce((sum, sample) => sum + of(sample), 0);
  return total(({ sum }) => sum) / (total(({ count }) => count) + 1);
}
