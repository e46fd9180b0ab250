// The end of a search, once every shard is ranked: one ranking of all, its final scores, and the k best as JSON. Search
// workers only; called by search.ts.
import type { DetailsWanted } from '../../src/contract/hits.js';
import type { CosineSample, RankedHit, ShardHits } from '../../src/contract/ranking.js';
import type { CollectionSearch, Found } from '../../src/contract/search-messages.js';
import type { SearchTiming } from '../../src/contract/resources.js';
import { hydrate } from './hydrate.js';
import { mergeShards } from './merge-shards.js';
import { asVectorHits, rankBoosted, rankFused, type ScoredHit } from './score-candidates.js';
import type { ShardView } from './shard-view.js';

/**
 * `hasChanged`: some hits have changed since they were ranked and are left out, or rows went that may have been looked
 * for.
 */
export interface Finished {
  found: Found;
  hasChanged: boolean;
}

/** `lists`: of the views in the same places. `timing` has what went before. */
export function finish(
  views: readonly ShardView[],
  lists: readonly ShardHits[],
  search: CollectionSearch,
  depth: number,
  details: DetailsWanted | undefined,
  timing: SearchTiming,
): Finished {
  const startedAtMs = performance.now();
  const hits = score(views, lists, search, depth).slice(0, search.k);
  const scoredAtMs = performance.now();
  timing.search_ms += scoredAtMs - startedAtMs;
  const measured = details && withMean(details, lists);
  const hydrated = hydrateAll(views, lists, search, hits, measured);
  const found: Found = {
    ids: [],
    scores: [],
    json: [],
    ...(search.withParts && { parts: [] }),
    timing,
    chunks: lists.reduce((sum, { chunks }) => sum + chunks, 0),
  };
  hydrated.forEach((hit, i) => {
    if (!hit) return;
    found.ids.push(hit.id);
    found.scores.push((hits[i] as ScoredHit).score);
    found.json.push(hit.json);
    if (hit.parts) found.parts?.push(hit.parts);
  });
  timing.hydrate_ms += performance.now() - scoredAtMs;
  const hasLost = views.some((view, shard) => view.hasLost((lists[shard] as ShardHits).removals));
  return { found, hasChanged: hasLost || found.ids.length < hits.length };
}

function score(
  views: readonly ShardView[],
  lists: readonly ShardHits[],
  { lexical, fusion, boostWeight }: CollectionSearch,
  depth: number,
): ScoredHit[] {
  const byVector = mergeShards(
    views,
    lists.map(({ vector }) => vector),
    depth,
  );
  if (!lexical) return asVectorHits(byVector);
  if (lexical.mode === 'boost') return rankBoosted(views, byVector, boostWeight, lexical.terms.length);
  const byWords = mergeShards(
    views,
    lists.flatMap((list) => list.lexical ?? []),
    depth,
  );
  return rankFused(views, fusion, byVector, byWords);
}

/** In the order of `hits`. */
function hydrateAll(
  views: readonly ShardView[],
  lists: readonly ShardHits[],
  search: CollectionSearch,
  hits: readonly ScoredHit[],
  details: DetailsWanted | undefined,
): ReturnType<typeof hydrate> {
  const answers: ReturnType<typeof hydrate> = new Array(hits.length);
  views.forEach((view, shard) => {
    const places = [...hits.keys()].filter((i) => hits[i]?.candidate.shard === shard);
    if (places.length === 0) return;
    const ofShard = places.map((i) => rankedHit(hits[i] as ScoredHit));
    hydrate(search, { view, hits: ofShard, before: (lists[shard] as ShardHits).before }, details).forEach(
      (hit, n) => (answers[places[n] as number] = hit),
    );
  });
  return answers;
}

const rankedHit = ({ candidate: { ordinal, stamp }, score, basis }: ScoredHit): RankedHit => ({
  ordinal,
  stamp,
  score,
  basis,
});

/** With the cosines that the query has with any chunk, for a relevance. */
function withMean(details: DetailsWanted, lists: readonly ShardHits[]): DetailsWanted {
  if (!details.relevance?.vector) return details;
  const samples = lists.flatMap(({ sample }) => sample ?? []);
  const total = (of: (sample: CosineSample) => number): number => samples.reduce((sum, sample) => sum + of(sample), 0);
  // As if one more chunk had nothing of the query: what is said of a collection of one is not that it is as near as
  // any.
  const mean = total(({ sum }) => sum) / (total(({ count }) => count) + 1);
  return { ...details, relevance: { vector: { query: details.relevance.vector.query, mean } } };
}
