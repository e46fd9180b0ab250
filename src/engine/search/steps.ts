// The steps of a search whose shards several nodes of a cluster hold. Each node looks up the words in its shards, ranks
// them by the statistics of all shards, and hydrates those of its hits that are among the best; what is between the steps
// is done by the node that was asked (service/cluster/spread-searches.ts). Searching threads only.
import type { CollectionRef } from '../../api/collections.js';
import type { SearchTiming } from '../../api/search.js';
import { nowSeconds } from '../../base/clock.js';
import { type LexicalStatistics, sumStatistics } from '../../ranking/bm25.js';
import { type PlacedCandidate, type ScoredHit, locateIn, mergeShards } from './merge.js';
import type { CollectionSearch, CosineSample, MissingIndexes, RankedList, WordMatching } from './params.js';
import type { HydratedHit, QueryStatistics } from './payload.js';
import { hydrateAll, missingIndexesOf, noTime, rankAll, statisticsIn, withoutExpired } from './search.js';
import type { ShardSet, ShardView } from './snapshot.js';
import { type KnownWords, knownWords, vocabularyOf } from './words.js';

/** Looks up words and terms in some shards. */
interface WordsStep {
  readonly step: 'words';
  readonly collection: CollectionRef;
  readonly shards: readonly number[];
  readonly terms: readonly string[];
  readonly matching?: WordMatching | undefined;
}

export interface FoundWords {
  /** Absent if the step has no matching. */
  readonly words?: KnownWords;
  readonly statistics: LexicalStatistics;
}

/** Ranks the shards of a search, whose words have been looked up. */
interface RankStep {
  readonly step: 'rank';
  readonly collection: CollectionRef;
  readonly search: CollectionSearch;
  /** Those of all shards. */
  readonly statistics: LexicalStatistics;
}

/** A view that has been ranked, by which the next step finds it again. */
export interface RankedView {
  readonly memory: number;
  readonly incarnation: number;
  readonly before: number;
  readonly removals: number;
}

export interface RankedShards {
  readonly views: readonly RankedView[];
  /** The candidates of the best, to the depth of the search. `shard` is the index of a view. */
  readonly vector: readonly PlacedCandidate[];
  /** Mode `hybrid` only. */
  readonly lexical: readonly PlacedCandidate[];
  readonly samples: readonly CosineSample[];
  readonly timing: SearchTiming;
}

/** Hydrates hits of a ranking. */
interface HydrateStep {
  readonly step: 'hydrate';
  readonly collection: CollectionRef;
  readonly search: CollectionSearch;
  readonly statistics: QueryStatistics;
  readonly views: readonly RankedView[];
  readonly hits: readonly ScoredHit[];
}

export interface HydratedHits {
  /** In the order of the hits; null for one that has changed since it was ranked. */
  readonly hits: readonly (HydratedHit | null)[];
  /** Whether rows were removed that the ranking might have missed. */
  readonly hasLost: boolean;
}

export type SearchStep = WordsStep | RankStep | HydrateStep;
export type StepAnswer = FoundWords | RankedShards | HydratedHits;

/** Returns the answer, or the missing indexes. Throws AppError `shard_unavailable`. */
export function takeStep(shards: ShardSet, step: SearchStep): StepAnswer | MissingIndexes[] {
  const places = (step.step === 'words' ? step.shards : step.search.shards) ?? shards.all;
  return shards.view<StepAnswer | MissingIndexes[]>(places, step.collection, (views) => {
    if (step.step === 'hydrate') return hydrateStep(views, step);
    const missing = missingIndexesOf(views, step.step === 'words' ? { lexical: {} } : step.search);
    if (missing.length > 0) return missing;
    return step.step === 'words' ? wordsStep(views, step) : rankStep(views, step);
  });
}

function wordsStep(views: readonly ShardView[], { terms, matching }: WordsStep): FoundWords {
  const statistics = sumStatistics(
    statisticsIn(views, terms),
    terms.map(() => 1),
  );
  return { statistics, ...(matching && { words: knownWords(vocabularyOf(views), matching) }) };
}

function rankStep(views: readonly ShardView[], { search, statistics }: RankStep): RankedShards {
  const timing = noTime();
  const { lists } = rankAll(views, withoutExpired(views, search, nowSeconds()), statistics, timing);
  const locate = locateIn(views);
  const best = (of: RankedList[]): PlacedCandidate[] =>
    mergeShards(locate, of, search.depth).map((candidate) => ({ ...candidate, position: locate(candidate) }));
  return {
    views: views.map(({ memory, incarnation }, i) => ({
      memory,
      incarnation,
      before: lists[i]?.before ?? 0,
      removals: lists[i]?.removals ?? 0,
    })),
    vector: best(lists.map(({ vector }) => vector)),
    lexical: best(lists.flatMap(({ lexical }) => lexical ?? [])),
    samples: lists.flatMap(({ sample }) => sample ?? []),
    timing,
  };
}

function hydrateStep(
  views: readonly ShardView[],
  { search, statistics, views: ranked, hits }: HydrateStep,
): HydratedHits {
  const placeOf = ({ memory, incarnation }: RankedView): number =>
    views.findIndex((view) => view.memory === memory && view.incarnation === incarnation);
  const places = ranked.map(placeOf);
  const known = new Map(ranked.map((view, i) => [places[i], view]));
  const found = hits.map((hit) => {
    const shard = places[hit.candidate.shard] ?? -1;
    return { ...hit, candidate: { ...hit.candidate, shard } };
  });
  const befores = views.map((_, i) => known.get(i)?.before ?? 0);
  const hydrated = hydrateAll(views, befores, search, found, statistics);
  return {
    hits: Array.from(hydrated, (hit) => hit ?? null),
    hasLost: ranked.some((view, i) => views[places[i] ?? -1]?.hasLost(view.removals) ?? true),
  };
}
