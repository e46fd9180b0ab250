// The steps of a search whose shards several nodes of a cluster hold, as messages (steps.ts). Pure; any thread.
import type { CollectionRef } from '../../api/collections.js';
import type { SearchTiming } from '../../api/search.js';
import type { LexicalStatistics } from '../../ranking/bm25.js';
import type { PlacedCandidate, Round, ScoredHit } from './merge.js';
import type { CollectionSearch, CosineSample, LikeSettings, SortSettings, WordMatching } from './params.js';
import type { HydratedHit, QueryStatistics } from './payload.js';
import type { SortedEntry } from './sort-key.js';
import type { KnownWords } from './words.js';

/** Looks up words and terms in some shards. */
export interface WordsStep {
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

/** Finds the examples of a search. */
interface ExamplesStep {
  readonly step: 'examples';
  readonly collection: CollectionRef;
  readonly shards: readonly number[];
  readonly like: LikeSettings;
}

export interface FoundExamples {
  /** In the order of `likeVector`; null for one that these shards do not have. */
  readonly vectors: readonly (Float32Array | null)[];
}

/** Ranks the shards of a search, whose words have been looked up, and which has the vector of its examples. */
export interface RankStep {
  readonly step: 'rank';
  readonly collection: CollectionRef;
  readonly search: CollectionSearch;
  /** Those of all shards. */
  readonly statistics: LexicalStatistics;
  readonly round?: Round | undefined;
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

/** Lists the first chunks of a sorted search. */
export interface SortStep {
  readonly step: 'sort';
  readonly collection: CollectionRef;
  readonly search: CollectionSearch;
  readonly sort: SortSettings;
}

export interface SortedShards {
  readonly views: readonly RankedView[];
  readonly entries: readonly SortedEntry[];
  /** Whether chunks may be missing. */
  readonly isBehind: boolean;
}

/** Hydrates hits of a ranking. */
export interface HydrateStep {
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

export type SearchStep = WordsStep | ExamplesStep | RankStep | SortStep | HydrateStep;
export type StepAnswer = (FoundWords | FoundExamples | RankedShards | SortedShards | HydratedHits) & {
  /** What the step took on a search worker: CPU time, or for hits, which may be read from disk, the time until they were there. */
  costMs?: number;
};

/** The shards of a step. */
export const shardsOfStep = (step: SearchStep): readonly number[] =>
  'search' in step ? (step.search.shards ?? []) : step.shards;
