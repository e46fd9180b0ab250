// A search of one collection: statistics of its words, the ranking of every shard, one answer.
// A hit that has changed meanwhile makes it run again: an answer shows a document whole, old or new. Search workers
// only.
import type { SearchTiming } from '../../api/search.js';
import { AppError } from '../../api/errors.js';
import { type LexicalStatistics, sumStatistics } from '../../ranking/bm25.js';
import { type ScoredHit, asVectorHits, mergeShards, rankBoosted, rankFused } from './merge.js';
import type { CollectionSearch, CosineSample, Found, SearchResult, ShardHits, Wanting } from './params.js';
import { type QueryStatistics, hydrate } from './payload.js';
import { rankParts } from './rank.js';
import type { ShardSet, ShardView } from './snapshot.js';

/**
 * `hasChanged`: some hits have changed since they were ranked and are left out, or rows went that may have been looked
 * for.
 */
interface Finished {
  found: Found;
  hasChanged: boolean;
}

/**
 * The end of a search, once every shard is ranked: one ranking of all, its final scores, and the k best as JSON.
 * `lists`: of the views in the same places. `timing` has what went before.
 */
export function finish(
  views: readonly ShardView[],
  lists: readonly ShardHits[],
  search: CollectionSearch,
  words: LexicalStatistics,
  timing: SearchTiming,
): Finished {
  const startedAtMs = performance.now();
  const hits = score(views, lists, search).slice(0, search.k);
  const scoredAtMs = performance.now();
  timing.search_ms += scoredAtMs - startedAtMs;
  const meanCosine = search.details?.relevance ? meanCosineOf(lists) : 0;
  const hydrated = hydrateAll(views, lists, search, hits, { words, meanCosine });
  const found: Found = {
    ids: [],
    scores: [],
    json: [],
    ...(search.withParts && { parts: [] }),
    timing,
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
  { depth, lexical, fusion, boostWeight }: CollectionSearch,
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
  statistics: QueryStatistics,
): ReturnType<typeof hydrate> {
  const answers: ReturnType<typeof hydrate> = new Array(hits.length);
  views.forEach((view, shard) => {
    const places = [...hits.keys()].filter((i) => hits[i]?.candidate.shard === shard);
    if (places.length === 0) return;
    const ofShard = places.map((i) => hits[i] as ScoredHit);
    hydrate(search, { view, hits: ofShard, before: (lists[shard] as ShardHits).before }, statistics).forEach(
      (hit, n) => (answers[places[n] as number] = hit),
    );
  });
  return answers;
}

/**
 * Of the query with any chunk, for a relevance. As if one more chunk had nothing of the query: what is said of a
 * collection of one is not that it is as near as any.
 */
function meanCosineOf(lists: readonly ShardHits[]): number {
  const samples = lists.flatMap(({ sample }) => sample ?? []);
  const total = (of: (sample: CosineSample) => number): number => samples.reduce((sum, sample) => sum + of(sample), 0);
  return total(({ sum }) => sum) / (total(({ count }) => count) + 1);
}

/** Of the terms that are ranked by, or that a relevance is estimated by. `views`: of all shards. */
function statisticsOf(views: readonly ShardView[], { lexical, details }: CollectionSearch): LexicalStatistics {
  const { terms, counts } = (lexical?.mode === 'hybrid' ? lexical : details?.words) ?? { terms: [], counts: [] };
  return sumStatistics(
    terms.length > 0 ? views.flatMap(({ part }) => part?.words?.statistics(terms) ?? []) : [],
    counts,
  );
}

/**
 * What a search wants that is not there: a part in memory, an index of words or of metadata. Their owners bring or make
 * them when they are asked to, which the front thread does before it sends the search again. Where memory has no room for an index, filters read the records, but words cannot be ranked: its owner is asked to
 * try again.
 */
export function wantingOf(
  views: readonly ShardView[],
  { lexical, narrowing, details }: Pick<CollectionSearch, 'narrowing' | 'details'> & { lexical?: object },
): Wanting[] {
  const ranksWords = lexical !== undefined || details?.words !== undefined;
  const wanting = views.flatMap(({ shard, part }): Wanting[] => {
    if (!part) return [];
    if (part.isAway)
      return [
        { shard, words: ranksWords || narrowing?.content !== undefined, fields: (narrowing?.filters.length ?? 0) > 0 },
      ];
    if (part.index.liveCount === 0) return [];
    const words = !part.words && (ranksWords || (narrowing?.content !== undefined && !part.isWithoutWords));
    const fields = !part.fields && narrowing !== undefined && narrowing.filters.length > 0 && !part.isWithoutFields;
    return words || fields ? [{ shard, words, fields }] : [];
  });
  if (wanting.length === 0) return wanting;
  return [...new Set(wanting.map(({ shard }) => shard))].map((shard) => {
    const own = wanting.filter((one) => one.shard === shard);
    return { shard, words: own.some(({ words }) => words), fields: own.some(({ fields }) => fields) };
  });
}

/**
 * Documents that are replaced without a pause make attempts fail one after the other; then what has changed is left
 * out.
 */
const ATTEMPTS_MAX = 100;
const PAUSE_MS = 1;

/** Throws AppError `shard_unavailable`. */
export function search(shards: ShardSet, asked: CollectionSearch): SearchResult {
  const timing: SearchTiming = { embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 };
  const first = shards.view(shards.all, asked.collection, (views) => attempt(views, asked, timing));
  if (first instanceof Array) return first;
  return first.hasChanged ? again(shards, asked, timing) : first.found;
}

/** What is missing is not told any more: indexes do not go while a search is at work, unless memory runs out. */
function again(shards: ShardSet, search: CollectionSearch, timing: SearchTiming): Found {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let attempts = 2; ; attempts++) {
    const answer = shards.view(shards.all, search.collection, (views) => attempt(views, search, timing));
    if (answer instanceof Array) throw new AppError('shard_unavailable', undefined, { retryAfterS: 1 });
    if (!answer.hasChanged || attempts === ATTEMPTS_MAX) return answer.found;
    Atomics.wait(pause, 0, 0, PAUSE_MS);
  }
}

/** `views`: of all shards and their arenas. */
function attempt(views: readonly ShardView[], search: CollectionSearch, timing: SearchTiming): Finished | Wanting[] {
  const wanting = wantingOf(views, search);
  if (wanting.length > 0) return wanting;
  const startedAtMs = performance.now();
  const statistics = statisticsOf(views, search);
  const lists = rankParts(views, search, statistics);
  addTimes(timing, lists, performance.now() - startedAtMs, search);
  return finish(views, lists, search, statistics, timing);
}

function addTimes(
  timing: SearchTiming,
  lists: readonly ShardHits[],
  elapsedMs: number,
  { lexical }: CollectionSearch,
): void {
  const total = (of: (hits: ShardHits) => number): number => lists.reduce((sum, hits) => sum + of(hits), 0);
  const filterMs = total((hits) => hits.filterMs);
  timing.filter_ms += filterMs;
  timing.search_ms += Math.max(0, elapsedMs - filterMs);
  if (lexical?.mode !== 'hybrid') return;
  timing.vector_search_ms = (timing.vector_search_ms ?? 0) + total((hits) => hits.vectorMs);
  timing.lexical_search_ms = (timing.lexical_search_ms ?? 0) + total((hits) => hits.lexicalMs);
}
