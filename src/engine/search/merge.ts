// Merging of rankings: ties within one segment, one ranking out of those of all shards, and the final scores of each
// search mode. Equal scores are ordered by document id and chunk index, so the answer does not depend on the number of
// shards; with rank fusion they are ordered by vector rank, then by chunk id. Records are read by views alone, which only
// searching threads have; the rest is pure.
import { type Ordinal, chunkIdOf } from '../../api/ids.js';
import type { Scalar } from '../../api/filter.js';
import type { FusionSettings } from '../../api/search.js';
import type { MetaLayers } from '../filter/match.js';
import {
  type Basis,
  type Halves,
  type Ranks,
  boostOf,
  fuseRankings,
  fusedScore,
  type Boosted,
  withPriority,
} from '../../ranking/scores.js';
import { type Place, comparePositions, crossShardTies, mergeRanked } from '../../ranking/top-k.js';
import type { SegmentView } from '../segments/segment.js';
import type { CollectionSearch, RankedList, ShardHits } from './params.js';
import type { ChunkPosition } from './payload-cache.js';
import type { ShardView } from './snapshot.js';
import { wantedIn } from './words.js';
import { compareUtf8 } from '../../base/bytes.js';

interface Row {
  readonly ordinal: Ordinal;
  readonly rowVersion: number;
}

interface Scored extends Row {
  readonly score: number;
}

/** The position of a chunk that is no longer stored: it sorts after every other. */
const GONE: ChunkPosition = { docid: '\u{10ffff}', index: 0, path: '' };

/**
 * Returns the first `k` of `scored`, which is sorted best first, with ties ordered by chunk position. Only the
 * positions of tied hits are read, including ties across the cut at `k`.
 */
export function breakTies<S extends Scored>(
  view: ShardView,
  segment: SegmentView,
  scored: readonly S[],
  k: number,
): S[] {
  const ordered: S[] = [];
  while (ordered.length < Math.min(k, scored.length)) {
    const start = ordered.length;
    let end = start + 1;
    while (end < scored.length && scored[end]?.score === scored[start]?.score) end++;
    if (end - start === 1) ordered.push(scored[start] as S);
    else for (const hit of orderByPosition(view, segment, scored.slice(start, end))) ordered.push(hit);
  }
  return ordered.slice(0, k);
}

function orderByPosition<S extends Scored>(view: ShardView, segment: SegmentView, run: readonly S[]): S[] {
  const placed = run.map((hit) => ({ hit, position: positionOf(view, segment, hit) }));
  return placed.sort((a, b) => comparePositions(a.position, b.position)).map(({ hit }) => hit);
}

/**
 * The position of a chunk in its document, from the cache or from the records. A chunk that has been deleted since it
 * was ranked sorts last; hydration drops its hit later (payload.ts).
 */
function positionOf(view: ShardView, segment: SegmentView, { ordinal, rowVersion }: Row): ChunkPosition {
  const version = { memory: view.memory, collection: segment.id, ordinal, rowVersion };
  const kept = view.cache.positions.get(version);
  if (kept) return kept;
  const chunk = view.txn.findChunk(segment.id, segment.stored(ordinal));
  if (!chunk) return GONE;
  const position = { docid: chunk.docid, index: chunk.index, path: chunk.path };
  if (segment.index.rowVersionOf(ordinal) === rowVersion) view.cache.positions.keep(version, position);
  return position;
}

/** A chunk as one shard has ranked it. */
export interface Candidate {
  /** Index of the view among the views of this search. */
  readonly shard: number;
  readonly ordinal: Ordinal;
  readonly rowVersion: number;
  readonly score: number;
  /** NaN if no ranking computed it. */
  readonly cosine: number;
  /** BM25 of a candidate of the vector ranking, if the search needs both scores; otherwise NaN. */
  readonly bm25: number;
  readonly priority: number;
  /** Number of distinct query terms the chunk has; 0 if they were not counted. */
  readonly matched: number;
}

/** Tells where in its document a candidate is. */
export type Locate = (candidate: Candidate) => ChunkPosition;

/** Reads positions from the records of the views. */
export const locateIn =
  (views: readonly ShardView[]): Locate =>
  (candidate) => {
    const view = views[candidate.shard];
    return view?.segment ? positionOf(view, view.segment, candidate) : GONE;
  };

/** Merges the rankings of all shards and returns the `k` best. `lists[i]` is the ranking of view `i`. */
export function mergeShards(locate: Locate, lists: readonly RankedList[], k: number): Candidate[] {
  const scores = lists.map((list) => list.scores);
  const places = mergeRanked(scores, k);
  for (const [start, end] of crossShardTies(scores, places, k)) {
    const tied = places.slice(start, end);
    const order = tied.map((place) => ({ place, position: locate(candidateAt(lists, place)) }));
    order.sort((a, b) => comparePositions(a.position, b.position));
    places.splice(start, end - start, ...order.map(({ place }) => place));
  }
  return places.slice(0, k).map((place) => candidateAt(lists, place));
}

function candidateAt(lists: readonly RankedList[], { shard, at }: Place): Candidate {
  const { ordinals, rowVersions, scores, cosines, bm25, priorities, matched } = lists[shard] as RankedList;
  return {
    shard,
    ordinal: ordinals[at] as Ordinal,
    rowVersion: rowVersions[at] as number,
    score: scores[at] as number,
    cosine: cosines[at] as number,
    bm25: bm25?.[at] ?? NaN,
    priority: priorities?.[at] ?? 0,
    matched: matched?.[at] ?? 0,
  };
}

/** Merges rankings whose candidates have their positions, and returns the `k` best. */
export const mergePlaced = (lists: readonly (readonly PlacedCandidate[])[], k: number): PlacedCandidate[] =>
  lists
    .flat()
    .sort((a, b) => b.score - a.score || comparePositions(a.position, b.position))
    .slice(0, k);

/** A candidate of views that another thread or node has, with what is read of it. */
export interface PlacedCandidate extends Candidate {
  readonly position: ChunkPosition;
  readonly ownPriority: number;
  readonly metadata?: MetaLayers | undefined;
  readonly vector?: Float32Array | undefined;
}

const placed = ({ candidate }: ScoredHit): PlacedCandidate => candidate as PlacedCandidate;

/** Reads what the candidates bring with them. Requires that all are placed. */
export const placedReader: HitReader = {
  locate: (candidate) => (candidate as PlacedCandidate).position,
  metadataOf: (hit) => placed(hit).metadata,
  priorityOf: (hit) => placed(hit).ownPriority,
  vectorOf: (hit) => placed(hit).vector,
};

/** A candidate with its final score and how the score came about. */
export interface ScoredHit {
  readonly candidate: Candidate;
  readonly score: number;
  readonly basis: Basis;
  /** The value by which the hit was grouped. */
  readonly group?: Scalar;
  /** How the score was boosted by metadata. */
  readonly boosted?: Boosted;
}

/** The rankings of all shards, and the hits that they give. */
export interface Ranking {
  /** `lists[i]` is the ranking of `views[i]`. */
  readonly lists: readonly ShardHits[];
  /** Best first: at least the k best if there are as many. */
  readonly hits: ScoredHit[];
  /** The best BM25 of mode `hybrid`. */
  readonly bestBm25?: number | undefined;
  /** Whether these are all hits, so that no deeper ranking has more. */
  readonly isWhole?: true;
}

/** A further round of a ranking, among other rows than before (groups.ts). */
export interface Round {
  readonly groups: GroupsSoFar;
  /** The ranks that earlier rounds have given: those of this round count on from there. */
  readonly ranksBefore: number;
  /** The best BM25 of the first round. */
  readonly bestBm25: number;
}

/** The groups that earlier rounds have found, in this order. */
export interface GroupsSoFar {
  /** The metadata field by whose values hits are grouped, or `docid`. */
  readonly by: string;
  readonly values: readonly Scalar[];
  /** Whether each group has all of its hits. */
  readonly areFull: readonly boolean[];
  /** Whether no further group is wanted. */
  readonly isClosed: boolean;
}

/** What is read of hits, to choose among them. */
export interface HitReader {
  readonly locate: Locate;
  /** Undefined for a chunk that is no longer stored. */
  readonly metadataOf: (hit: ScoredHit) => MetaLayers | undefined;
  readonly priorityOf: (hit: ScoredHit) => number;
  readonly vectorOf: (hit: ScoredHit) => Float32Array | undefined;
}

/** How hits of equal score are ordered. */
interface Order {
  /** Compares by what is known without reading records. Only hits that `first` leaves equal are compared by `then`. */
  readonly first: (a: ScoredHit, b: ScoredHit) => number;
  readonly then: (a: ChunkPosition, b: ChunkPosition) => number;
}

const byPosition: Order = { first: () => 0, then: comparePositions };
const byVectorRank: Order = {
  first: (a, b) => compareNumbers(vectorRankOf(a), vectorRankOf(b)),
  then: (a, b) => compareUtf8(chunkIdOf(a.docid, a.path), chunkIdOf(b.docid, b.path)),
};

const ONLY_ROUND: Pick<Round, 'ranksBefore'> & Partial<Round> = { ranksBefore: 0 };

/** Turns candidates of mode `vector`, which are in final order already, into hits. */
const asVectorHits = (candidates: readonly Candidate[], { ranksBefore } = ONLY_ROUND): ScoredHit[] =>
  candidates.map((candidate, i) => ({
    candidate,
    score: candidate.score,
    basis: { mode: 'vector', cosine: candidate.cosine, vectorRank: ranksBefore + i + 1 },
  }));

/**
 * Final ranking of mode `boost`: cosine plus a boost for matched tokens. `wanted` is the number of distinct tokens of
 * the query; `isWidened` tells that other tokens may stand for them.
 */
function rankBoosted(
  locate: Locate,
  candidates: readonly Candidate[],
  weight: number,
  { wanted, isWidened }: { wanted: number; isWidened: boolean },
  { ranksBefore } = ONLY_ROUND,
): ScoredHit[] {
  const hits = candidates.map((candidate, i): ScoredHit => {
    const { cosine, matched, priority } = candidate;
    const boost = boostOf(weight, matched, wanted);
    return {
      candidate,
      score: withPriority(cosine + boost, priority),
      basis: { mode: 'boost', cosine, vectorRank: ranksBefore + i + 1, boost, matched, wanted, isWidened },
    };
  });
  return ordered(locate, hits, byPosition);
}

/**
 * Final ranking of mode `hybrid`. Both rankings cover all shards and have the same depth. For score fusion each
 * candidate also carries its score in the other ranking.
 */
function rankFused(
  locate: Locate,
  fusion: FusionSettings,
  byVector: readonly Candidate[],
  byTerms: readonly Candidate[],
  { ranksBefore, bestBm25 } = ONLY_ROUND,
): ScoredHit[] {
  const best = bestBm25 ?? byTerms[0]?.score ?? 0;
  const hits = [...fuseRankings(byVector.map(keyOf), byTerms.map(keyOf)).values()].map((ranks): ScoredHit => {
    const [near, worded] = [at(byVector, ranks.vectorRank), at(byTerms, ranks.lexicalRank)];
    const candidate = (near ?? worded) as Candidate;
    const halves = halvesOf(
      ranksBefore === 0 ? ranks : later(ranks, ranksBefore),
      near?.cosine ?? worded?.cosine,
      worded?.score ?? near?.bm25,
      best,
    );
    return {
      candidate,
      score: withPriority(fusedScore(fusion, halves), candidate.priority),
      basis: { mode: 'hybrid', fusion, ...halves },
    };
  });
  return ordered(locate, hits, fusion.method === 'rank' ? byVectorRank : byPosition);
}

const later = ({ vectorRank, lexicalRank }: Ranks, before: number): Ranks => ({
  ...(vectorRank !== undefined && { vectorRank: before + vectorRank }),
  ...(lexicalRank !== undefined && { lexicalRank: before + lexicalRank }),
});

const at = (ranking: readonly Candidate[], rank: number | undefined): Candidate | undefined =>
  rank === undefined ? undefined : ranking[rank - 1];

/**
 * Scores and ranks of one hit in both rankings. A score that is NaN or undefined is left out. `best` is the highest
 * BM25 of the lexical ranking, 0 if it is empty.
 */
function halvesOf(ranks: Ranks, cosine = NaN, bm25 = NaN, best: number): Halves {
  const share = best === 0 ? 0 : bm25 / best;
  return { ...ranks, ...(!Number.isNaN(cosine) && { cosine }), ...(!Number.isNaN(bm25) && { bm25, share }) };
}

const keyOf = ({ shard, ordinal }: Candidate): string => `${shard}/${ordinal}`;

const vectorRankOf = ({ basis }: ScoredHit): number => (basis.mode === 'hybrid' ? (basis.vectorRank ?? Infinity) : 0);

/** Sorts best first; equal scores by document and chunk. */
export const inOrder = (locate: Locate, hits: ScoredHit[]): ScoredHit[] => ordered(locate, hits, byPosition);

/** Sorts best first. Positions are read only for hits that remain equal. */
function ordered(locate: Locate, hits: ScoredHit[], { first, then }: Order): ScoredHit[] {
  const coarse = (a: ScoredHit, b: ScoredHit): number => b.score - a.score || first(a, b);
  hits.sort(coarse);
  const isTied = (hit: ScoredHit, i: number): boolean =>
    [hits[i - 1], hits[i + 1]].some((other) => other !== undefined && coarse(hit, other) === 0);
  const tied = hits.filter(isTied);
  if (tied.length === 0) return hits;
  const positionOf = new Map(tied.map((hit) => [hit, locate(hit.candidate)]));
  return hits.sort(
    (a, b) => coarse(a, b) || then(positionOf.get(a) as ChunkPosition, positionOf.get(b) as ChunkPosition),
  );
}

const compareNumbers = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

/** The hits that the merged rankings give, best first. `byTerms` is called in mode `hybrid` only. */
export function scoreMerged(
  locate: Locate,
  byVector: readonly Candidate[],
  byTerms: () => readonly Candidate[],
  { lexical, fusion, boostWeight }: Pick<CollectionSearch, 'lexical' | 'fusion' | 'boostWeight'>,
  round?: Round,
): ScoredHit[] {
  if (!lexical) return asVectorHits(byVector, round);
  if (lexical.mode === 'boost') return rankBoosted(locate, byVector, boostWeight, wantedIn(lexical), round);
  return rankFused(locate, fusion, byVector, byTerms(), round);
}
