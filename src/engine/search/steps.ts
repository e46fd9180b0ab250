// The steps of a search whose shards several nodes of a cluster hold. Each node looks up the words in its shards, ranks
// them by the statistics of all shards, and hydrates those of its hits that are among the best; what is between the steps
// is done by the node that was asked (service/cluster/spread-search.ts). Searching threads only.
import { nowSeconds } from '../../base/clock.js';
import { sumStatistics } from '../../ranking/bm25.js';
import { GroupRows } from './group-rows.js';
import { DOCID } from './groups.js';
import { metadataReader, priorityIn, vectorIn } from './hit-reader.js';
import { examplesIn, withoutExamples } from './like.js';
import { type Candidate, type Locate, type PlacedCandidate, locateIn, mergeShards } from './merge.js';
import type { CollectionSearch, MissingIndexes, RankedList } from './params.js';
import { hydrateAll, missingIndexesOf, noTime, rankLists, statisticsIn, withoutExpired } from './search.js';
import type { ShardSet, ShardView } from './snapshot.js';
import { sortedEntries } from './sorted.js';
import {
  type FoundWords,
  type HydrateStep,
  type HydratedHits,
  type RankStep,
  type RankedShards,
  type RankedView,
  type SearchStep,
  type SortStep,
  type SortedShards,
  type StepAnswer,
  type WordsStep,
  shardsOfStep,
} from './step-messages.js';
import { knownWords, vocabularyOf } from './words.js';

/** Returns the answer, or the missing indexes. Throws AppError `shard_unavailable`. */
export function takeStep(shards: ShardSet, step: SearchStep): StepAnswer | MissingIndexes[] {
  return shards.view<StepAnswer | MissingIndexes[]>(shardsOfStep(step), step.collection, (views) => {
    if (step.step === 'hydrate') return hydrateStep(views, step);
    const missing = missingIndexesOf(views, indexesFor(step));
    if (missing.length > 0) return missing;
    if (step.step === 'words') return wordsStep(views, step);
    if (step.step === 'examples') return { vectors: examplesIn(views, step.like, nowSeconds()).vectors.map(orNull) };
    return step.step === 'sort' ? sortStep(views, step) : rankStep(views, step);
  });
}

function indexesFor(step: Exclude<SearchStep, HydrateStep>): Parameters<typeof missingIndexesOf>[1] {
  if (step.step === 'words') return { lexical: {} };
  return step.step === 'examples' ? { like: step.like } : step.search;
}

const orNull = <T>(value: T | undefined): T | null => value ?? null;

function wordsStep(views: readonly ShardView[], { terms, matching }: WordsStep): FoundWords {
  const statistics = sumStatistics(
    statisticsIn(views, terms),
    terms.map(() => 1),
  );
  return { statistics, ...(matching && { words: knownWords(vocabularyOf(views), matching) }) };
}

/** The views as they are before they are read, so that what changes meanwhile is noticed. */
const viewsIn = (views: readonly ShardView[]): RankedView[] =>
  views.map(({ memory, incarnation, before, removals }) => ({ memory, incarnation, before, removals }));

function rankStep(views: readonly ShardView[], { search, statistics, round }: RankStep): RankedShards {
  const timing = noTime();
  const nowS = nowSeconds();
  const unexpired = withoutExpired(views, search, nowS);
  const { like } = search;
  const settled = like ? withoutExamples(views, unexpired, examplesIn(views, like, nowS)) : unexpired;
  const among = round ? new GroupRows(views, settled).remaining(round.groups) : settled.among;
  const lists = rankLists(views, { ...settled, ...(among && { among }) }, statistics, timing);
  const place = placer(views, search);
  const best = (of: RankedList[]): PlacedCandidate[] => mergeShards(place.locate, of, search.depth).map(place.placed);
  return {
    views: viewsIn(views),
    vector: best(lists.map(({ vector }) => vector)),
    lexical: best(lists.flatMap(({ lexical }) => lexical ?? [])),
    samples: lists.flatMap(({ sample }) => sample ?? []),
    timing,
  };
}

/** Adds to candidates what the choice among them needs. */
function placer(
  views: readonly ShardView[],
  { boostBy, results }: CollectionSearch,
): { locate: Locate; placed: (candidate: Candidate) => PlacedCandidate } {
  const locate = locateIn(views);
  const metadataOf = metadataReader(views);
  const wantsMetadata = boostBy !== undefined || (results?.group && results.group.by !== DOCID);
  const placed = (candidate: Candidate): PlacedCandidate => ({
    ...candidate,
    position: locate(candidate),
    ownPriority: priorityIn(views, candidate),
    ...(wantsMetadata && { metadata: metadataOf(candidate) }),
    ...(results?.diversity && { vector: vectorIn(views, candidate) }),
  });
  return { locate, placed };
}

function sortStep(views: readonly ShardView[], { search, sort }: SortStep): SortedShards {
  const unexpired = withoutExpired(views, search, nowSeconds());
  return { views: viewsIn(views), ...sortedEntries(views, unexpired, sort) };
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
