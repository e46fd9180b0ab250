// A search of one collection: query statistics, the ranking of every shard, the merge, and hydration. If a hit changes
// during the search, the search runs again, so that an answer never mixes old and new chunks of one document. Searching
// threads only.
import type { SearchTiming } from '../../api/search.js';
import { AppError } from '../../api/errors.js';
import { nowSeconds } from '../../base/clock.js';
import { type LexicalStatistics, sumStatistics } from '../../ranking/bm25.js';
import { subtract } from '../filter/bitmap.js';
import { foundFrom, meanCosineOf, rankedTerms } from './answer.js';
import { GroupRows, admittedIn } from './group-rows.js';
import { readerIn } from './hit-reader.js';
import { searchLike } from './like.js';
import { fusedRanking } from './queries.js';
import {
  type Candidate,
  type Ranking,
  type Round,
  type ScoredHit,
  locateIn,
  mergeShards,
  scoreMerged,
} from './merge.js';
import {
  type CollectionSearch,
  type Found,
  type MissingIndexes,
  type SearchResult,
  type ShardHits,
  estimatesRelevance,
  filtersTexts,
} from './params.js';
import { type QueryStatistics, hydrate } from './payload.js';
import { rankSegments } from './rank.js';
import { type Selected, selected } from './select.js';
import { sortedHits } from './sorted.js';
import type { ShardSet, ShardView } from './snapshot.js';
import { vocabularyOf, withAlternatives } from './words.js';

/**
 * `hasChanged`: some hits changed after they were ranked and were left out, or rows were removed that the search might
 * have missed.
 */
interface Finished {
  found: Found;
  hasChanged: boolean;
}

/** Ranks all shards to the depth of the search. Adds what it takes to `timing`. */
export function rankLists(
  views: readonly ShardView[],
  search: CollectionSearch,
  statistics: LexicalStatistics,
  timing: SearchTiming,
): ShardHits[] {
  const startedAtMs = performance.now();
  const lists = rankSegments(views, search, statistics, search.among);
  addTimes(timing, lists, performance.now() - startedAtMs, search);
  return lists;
}

/** Ranks all shards, merges the rankings and computes the final scores. */
function rankAll(
  views: readonly ShardView[],
  search: CollectionSearch,
  statistics: LexicalStatistics,
  timing: SearchTiming,
  round?: Round,
): Ranking {
  const lists = rankLists(views, search, statistics, timing);
  const rankedAtMs = performance.now();
  const hits = score(views, lists, search, round);
  timing.search_ms += performance.now() - rankedAtMs;
  const tops = lists.flatMap(({ lexical }) => lexical?.scores[0] ?? []);
  return { lists, hits, bestBm25: tops.length > 0 ? Math.max(...tops) : undefined };
}

/** Hydrates the hits of a search. Times are added to `timing`. */
export function finish(
  views: readonly ShardView[],
  chosen: Selected,
  search: CollectionSearch,
  statistics: LexicalStatistics,
  timing: SearchTiming,
): Finished {
  const { lists, hits, hasChanged: isBehind = false } = chosen;
  const startedAtMs = performance.now();
  const meanCosine = estimatesRelevance(search.details) ? meanCosineOf(lists.flatMap(({ sample }) => sample ?? [])) : 0;
  const hydrated = hydrateAll(
    views,
    lists.map(({ before }) => before),
    search,
    hits,
    { lexical: statistics, meanCosine },
  );
  const { found, isWhole } = foundFrom(hydrated, chosen, search, timing);
  timing.hydrate_ms += performance.now() - startedAtMs;
  const hasChanged = isBehind || !isWhole;
  const hasLost = views.some((view, shard) => view.hasLost((lists[shard] as ShardHits).removals));
  return { found, hasChanged: hasLost || hasChanged };
}

/** The hits that the rankings of all shards give, best first. */
export function score(
  views: readonly ShardView[],
  lists: readonly ShardHits[],
  search: CollectionSearch,
  round?: Round,
): ScoredHit[] {
  const locate = locateIn(views);
  const byVector = mergeShards(
    locate,
    lists.map(({ vector }) => vector),
    search.depth,
  );
  const byTerms = (): Candidate[] =>
    mergeShards(
      locate,
      lists.flatMap((list) => list.lexical ?? []),
      search.depth,
    );
  return scoreMerged(locate, byVector, byTerms, search, round);
}

/** Hydrates all hits; the result is in the order of `hits`. `befores[i]` is that of view `i` when it was ranked. */
export function hydrateAll(
  views: readonly ShardView[],
  befores: readonly number[],
  search: CollectionSearch,
  hits: readonly ScoredHit[],
  statistics: QueryStatistics,
): ReturnType<typeof hydrate> {
  const answers: ReturnType<typeof hydrate> = new Array(hits.length);
  views.forEach((view, shard) => {
    const places = [...hits.keys()].filter((i) => hits[i]?.candidate.shard === shard);
    if (places.length === 0) return;
    const ofShard = places.map((i) => hits[i] as ScoredHit);
    hydrate(search, { view, hits: ofShard, before: befores[shard] as number }, statistics).forEach(
      (hit, n) => (answers[places[n] as number] = hit),
    );
  });
  return answers;
}

/** Statistics, summed over all shards, of the terms that the search ranks by or estimates relevance from. */
function statisticsOf(views: readonly ShardView[], search: CollectionSearch): LexicalStatistics {
  const { terms, counts, alternatives } = rankedTerms(search);
  return sumStatistics(statisticsIn(views, terms), counts, alternatives?.groups);
}

/** The statistics of each segment for these terms. */
export const statisticsIn = (views: readonly ShardView[], terms: readonly string[]): LexicalStatistics[] =>
  terms.length > 0 ? views.flatMap(({ segment }) => segment?.textIndex?.statistics(terms) ?? []) : [];

/**
 * Missing indexes: segments that are evicted, text indexes and metadata indexes that are not built. The thread
 * that plans the search asks the owners of the shards for them and repeats the search. If memory does not suffice for an index, filters fall
 * back to reading records; a lexical ranking has no fallback, so its index is always reported as missing.
 */
export function missingIndexesOf(
  views: readonly ShardView[],
  {
    lexical,
    filter,
    details,
    results,
    sort,
    like,
  }: Pick<CollectionSearch, 'filter' | 'details' | 'results' | 'sort' | 'like'> & { lexical?: object },
): MissingIndexes[] {
  const ranksTerms = lexical !== undefined || details?.terms !== undefined;
  const usesFields =
    (filter !== undefined && filter.filters.length > 0) ||
    results?.group !== undefined ||
    sort !== undefined ||
    like?.within !== undefined;
  const missing = views.flatMap(({ shard, segment }): MissingIndexes[] => {
    if (!segment) return [];
    if (segment.isEvicted) return [{ shard, textIndex: ranksTerms || filtersTexts(filter), fields: usesFields }];
    if (segment.index.liveCount === 0) return [];
    const textIndex = !segment.textIndex && (ranksTerms || (filtersTexts(filter) && !segment.isWithoutTextIndex));
    const fields = usesFields && !segment.fields && !segment.isWithoutFields;
    return textIndex || fields ? [{ shard, textIndex, fields }] : [];
  });
  return byShard(missing);
}

/** One entry for each shard. */
const byShard = (missing: readonly MissingIndexes[]): MissingIndexes[] =>
  [...new Set(missing.map(({ shard }) => shard))].map((shard) => {
    const own = missing.filter((one) => one.shard === shard);
    return { shard, textIndex: own.some(({ textIndex }) => textIndex), fields: own.some(({ fields }) => fields) };
  });

/**
 * Documents that are written without a pause can make every attempt fail. After this many attempts the shards are kept
 * from committing, and after so many in all the answer leaves out the hits that have changed.
 */
const FREE_ATTEMPTS = 8;
const ATTEMPTS_MAX = 100;
const HOLD_MS = 100;
const HELD_ATTEMPTS = 10;
const PAUSE_MS = 1;

/**
 * Returns the hits, or the missing indexes. Blocks the thread for 1 ms between attempts. Throws AppError
 * `shard_unavailable`.
 */
export function search(shards: ShardSet, asked: CollectionSearch): SearchResult {
  const timing = noTime();
  const first = shards.view(asked.shards ?? shards.all, asked.collection, (views) => attempt(views, asked, timing));
  if (first instanceof Array) return first;
  return first.hasChanged ? again(shards, asked, timing) : first.found;
}

/**
 * Like `search`, for a thread that must not block: returns undefined if indexes are missing or hits have changed, and
 * the search has to be repeated by a search worker. Throws AppError `shard_unavailable`.
 */
export function searchOnce(shards: ShardSet, asked: CollectionSearch): Found | undefined {
  const timing = noTime();
  const first = shards.view(asked.shards ?? shards.all, asked.collection, (views) => attempt(views, asked, timing));
  return first instanceof Array || first.hasChanged ? undefined : first.found;
}

export const noTime = (): SearchTiming => ({ embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 });

/**
 * Repeats the search until nothing changes under it. A missing index is an error here: indexes do not go while searches
 * are running unless memory runs out.
 */
function again(shards: ShardSet, search: CollectionSearch, timing: SearchTiming): Found {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const places = search.shards ?? shards.all;
  for (let attempts = 2; ; attempts++) {
    const letGo = attempts > FREE_ATTEMPTS ? shards.hold(places, HOLD_MS) : undefined;
    try {
      // What was being committed when the hold began is published soon.
      for (let tries = 0; ; tries++) {
        const answer = shards.view(places, search.collection, (views) => attempt(views, search, timing));
        if (answer instanceof Array) throw new AppError('shard_unavailable', undefined, { retryAfterS: 1 });
        if (!answer.hasChanged || attempts >= ATTEMPTS_MAX) return answer.found;
        Atomics.wait(pause, 0, 0, PAUSE_MS);
        if (!letGo || tries === HELD_ATTEMPTS) break;
      }
    } finally {
      letGo?.();
    }
  }
}

/**
 * The search among the rows that have not expired in second `nowS`. For a collection of which nothing has expired, the
 * bound tells so; the owners soon delete what has.
 */
export function withoutExpired(views: readonly ShardView[], search: CollectionSearch, nowS: number): CollectionSearch {
  if (!views.some(({ segment }) => segment && segment.expiries.first <= nowS)) return search;
  const among = views.map((view) => {
    const { segment } = view;
    return segment ? subtract(admittedIn(view, search), segment.expiredRows(nowS)) : new Uint32Array();
  });
  return { ...search, among };
}

/** `views` are those of all segments of the collection, in all shards and arenas. */
function attempt(
  views: readonly ShardView[],
  search: CollectionSearch,
  timing: SearchTiming,
): Finished | MissingIndexes[] {
  const missing = [search, ...(search.fused?.queries ?? [])].flatMap((query) =>
    missingIndexesOf(views, query === search ? search : { ...search, ...query }),
  );
  if (missing.length > 0) return byShard(missing);
  const matching = withAlternatives(vocabularyOf(views), search);
  const statistics = statisticsOf(views, matching);
  const nowS = nowSeconds();
  const settled = (query: CollectionSearch, at: readonly (string | number)[]): CollectionSearch => {
    const unexpired = withoutExpired(views, query, nowS);
    return query.like ? searchLike(views, unexpired, query.like, at, nowS) : unexpired;
  };
  const asked = settled(matching, ['body', 'like']);
  const groupRows = new GroupRows(views, asked);
  const rankQuery = (query: CollectionSearch, at: readonly (string | number)[]): Ranking => {
    const own = withAlternatives(vocabularyOf(views), query);
    return rankAll(views, settled(own, at), statisticsOf(views, own), timing);
  };
  const rank = search.fused
    ? fusedRanking(locateIn(views), search, search.fused, rankQuery)
    : (deeper: CollectionSearch, round?: Round): Ranking => {
        const own = round ? { ...deeper, among: groupRows.remaining(round.groups) } : deeper;
        return rankAll(views, own, statistics, timing, round);
      };
  const found = asked.sort ? sortedHits(views, asked, asked.sort) : selected(readerIn(views), asked, rank);
  return finish(views, found, asked, statistics, timing);
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
