// The final order of a search: what each mode makes of the rankings, then the priority, then the k best. Equal scores
// stand by document id and chunk order; where ranks are fused by vector rank, then by chunk id. Search workers only;
// called by finish.ts.
import { chunkIdOf } from '../../src/contract/ids.js';
import type { Basis, ChunkPosition, Halves, Ranks } from '../../src/contract/ranking.js';
import type { FusionSettings } from '../../src/contract/api/search.js';
import { boostOf } from '../../src/rank/boost.js';
import { fusedScore, fuseRankings } from '../../src/rank/fuse.js';
import { compareDocIds, comparePositions } from '../../src/rank/merge.js';
import { withPriority } from '../../src/rank/priority.js';
import { locate, type Candidate } from './merge-shards.js';
import type { ShardView } from './shard-view.js';

export interface ScoredHit {
  readonly candidate: Candidate;
  readonly score: number;
  readonly basis: Basis;
}

/** Of hits of equal score. */
interface Order {
  /** What is known of them without their records. */
  readonly first: (a: ScoredHit, b: ScoredHit) => number;
  readonly then: (a: ChunkPosition, b: ChunkPosition) => number;
}

const byPosition: Order = { first: () => 0, then: comparePositions };
const byVectorRank: Order = {
  first: (a, b) => compareNumbers(vectorRankOf(a), vectorRankOf(b)),
  then: (a, b) => compareDocIds(chunkIdOf(a.docid, a.path), chunkIdOf(b.docid, b.path)),
};

/** Candidates of mode vector, which are in their final order. */
export const asVectorHits = (candidates: readonly Candidate[]): ScoredHit[] =>
  candidates.map((candidate, i) => ({
    candidate,
    score: candidate.score,
    basis: { mode: 'vector', cosine: candidate.cosine, vectorRank: i + 1 },
  }));

/** `wanted` is the number of distinct tokens of the query. */
export function rankBoosted(
  views: readonly ShardView[],
  candidates: readonly Candidate[],
  weight: number,
  wanted: number,
): ScoredHit[] {
  const hits = candidates.map((candidate, i): ScoredHit => {
    const { cosine, matched, priority } = candidate;
    const boost = boostOf(weight, matched, wanted);
    return {
      candidate,
      score: withPriority(cosine + boost, priority),
      basis: { mode: 'boost', cosine, vectorRank: i + 1, boost, matched, wanted },
    };
  });
  return ordered(views, hits, byPosition);
}

/** Both rankings are of one depth, over all shards; for a fusion of scores each knows those of the other. */
export function rankFused(
  views: readonly ShardView[],
  fusion: FusionSettings,
  byVector: readonly Candidate[],
  byWords: readonly Candidate[],
): ScoredHit[] {
  const best = byWords[0]?.score ?? 0;
  const hits = [...fuseRankings(byVector.map(keyOf), byWords.map(keyOf)).values()].map((ranks): ScoredHit => {
    const [near, worded] = [at(byVector, ranks.vectorRank), at(byWords, ranks.lexicalRank)];
    const candidate = (near ?? worded) as Candidate;
    const halves = halvesOf(ranks, near?.cosine ?? worded?.cosine, worded?.score ?? near?.words, best);
    return {
      candidate,
      score: withPriority(fusedScore(fusion, halves), candidate.priority),
      basis: { mode: 'hybrid', fusion, ...halves },
    };
  });
  return ordered(views, hits, fusion.method === 'rank' ? byVectorRank : byPosition);
}

const at = (ranking: readonly Candidate[], rank: number | undefined): Candidate | undefined =>
  rank === undefined ? undefined : ranking[rank - 1];

/** Scores that no half knows are NaN or undefined, and left out. `best` is 0 where no chunk has any of the words. */
function halvesOf(ranks: Ranks, cosine = NaN, bm25 = NaN, best: number): Halves {
  const share = best === 0 ? 0 : bm25 / best;
  return { ...ranks, ...(!Number.isNaN(cosine) && { cosine }), ...(!Number.isNaN(bm25) && { bm25, share }) };
}

const keyOf = ({ shard, ordinal }: Candidate): string => `${shard}/${ordinal}`;

const vectorRankOf = ({ basis }: ScoredHit): number => (basis.mode === 'hybrid' ? (basis.vectorRank ?? Infinity) : 0);

/** Best first; what is still equal is put in order by where the chunks stand. */
function ordered(views: readonly ShardView[], hits: ScoredHit[], { first, then }: Order): ScoredHit[] {
  const coarse = (a: ScoredHit, b: ScoredHit): number => b.score - a.score || first(a, b);
  hits.sort(coarse);
  const isTied = (hit: ScoredHit, i: number): boolean =>
    [hits[i - 1], hits[i + 1]].some((other) => other !== undefined && coarse(hit, other) === 0);
  const tied = hits.filter(isTied);
  if (tied.length === 0) return hits;
  const positionOf = new Map(tied.map((hit) => [hit, locate(views, hit.candidate)]));
  return hits.sort(
    (a, b) => coarse(a, b) || then(positionOf.get(a) as ChunkPosition, positionOf.get(b) as ChunkPosition),
  );
}

const compareNumbers = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);
