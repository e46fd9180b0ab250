// The score of a hit: what each search mode makes of cosine and BM25, the effect of the document's priority, and the
// estimated probability of relevance. Pure functions.
import { FUSION_K_DEFAULT, FUSION_WEIGHTS_DEFAULT } from '../api/limits.js';
import type { Explanation, FusionSettings, FusionWeights, QueriesFusion } from '../api/search.js';

/** Ranks from 1; undefined if a ranking does not have the chunk. */
export interface Ranks {
  vectorRank?: number;
  lexicalRank?: number;
}

/**
 * What the two rankings of mode hybrid know of a chunk. A ranking that does not have the chunk leaves its fields out;
 * with score fusion both scores are always there.
 */
export interface Halves extends Readonly<Ranks> {
  readonly cosine?: number;
  readonly bm25?: number;
  /** BM25 divided by the best BM25 of the ranking. */
  readonly share?: number;
}

/** How a hit got its score, before the priority is applied. */
export type Basis =
  | { readonly mode: 'vector'; readonly cosine: number; readonly vectorRank?: number }
  | {
      readonly mode: 'boost';
      readonly cosine: number;
      readonly vectorRank?: number;
      readonly boost: number;
      /** The number of matched tokens, or the sum of the weights of those that match. */
      readonly matched: number;
      readonly wanted: number;
      /** Whether other tokens may stand for those of the query. */
      readonly isWidened: boolean;
    }
  | ({ readonly mode: 'hybrid'; readonly fusion: FusionSettings } & Halves)
  /** Several queries, and what those of them that found the chunk know of it. */
  | { readonly mode: 'queries'; readonly fusion: QueriesFusion; readonly found: readonly FoundByQuery[] }
  /** A search by filters alone, whose hits have no score. */
  | { readonly mode: 'sorted'; readonly field: string };

/** How the score of a hit was boosted, as `explain` shows it. `score` is that with the boost, before the priority. */
export type Boosted = NonNullable<Explanation['boost_by']>;

/** A hit of one of several queries: its rank, from 1, and its score in the search of this query alone. */
export interface FoundByQuery {
  readonly query: number;
  readonly rank: number;
  readonly score: number;
  readonly weight: number;
}

/** The score of a chunk that several queries have found. A query that has not found it adds nothing. */
export const queriesScore = (fusion: QueriesFusion, found: readonly FoundByQuery[]): number =>
  found.reduce(
    (sum, { rank, score, weight }) =>
      sum + (fusion.method === 'score' ? weight * score : reciprocal(weight, fusion.k, rank)),
    0,
  );

/**
 * The score in mode hybrid: weighted reciprocal rank fusion (Cormack, Clarke, Büttcher 2009), or the weighted sum of
 * the cosine and of BM25 relative to the best of the ranking. Neither depends on the number of candidates.
 */
export function fusedScore(fusion: FusionSettings, { vectorRank, lexicalRank, cosine = 0, share = 0 }: Halves): number {
  const { weights } = fusion;
  if (fusion.method === 'score') return weights.vector * cosine + weights.lexical * share;
  return reciprocal(weights.vector, fusion.k, vectorRank) + reciprocal(weights.lexical, fusion.k, lexicalRank);
}

const reciprocal = (weight: number, k: number, rank: number | undefined): number =>
  rank === undefined ? 0 : weight / (k + rank);

/** Merges two rankings: each key once, with its ranks. The keys of the vector ranking come first, in its order. */
export function fuseRankings<K>(vector: readonly K[], lexical: readonly K[]): Map<K, Ranks> {
  const ranks = new Map<K, Ranks>(vector.map((key, i) => [key, { vectorRank: i + 1 }]));
  lexical.forEach((key, i) => ranks.set(key, { ...ranks.get(key), lexicalRank: i + 1 }));
  return ranks;
}

interface FusionWish {
  readonly method: 'rank' | 'score';
  readonly k?: number | null | undefined;
  readonly weights?: Readonly<FusionWeights> | null | undefined;
}

/**
 * The fusion settings of a search in mode hybrid: those of the search itself, then those configured for the server if
 * they have the same method, then the defaults.
 */
export function fusionSettings({ method, k, weights }: FusionWish, instance?: FusionSettings): FusionSettings {
  const same = instance?.method === method ? instance : undefined;
  const weighed = { ...(weights ?? same?.weights ?? FUSION_WEIGHTS_DEFAULT[method]) };
  if (method === 'score') return { method, weights: weighed };
  return { method, k: k ?? (same?.method === 'rank' ? same.k : FUSION_K_DEFAULT), weights: weighed };
}

/** The score of a hit before its priority is applied. */
export function scoreOf(basis: Basis): number {
  if (basis.mode === 'hybrid') return fusedScore(basis.fusion, basis);
  if (basis.mode === 'queries') return queriesScore(basis.fusion, basis.found);
  if (basis.mode === 'sorted') return 0;
  return basis.mode === 'boost' ? basis.cosine + basis.boost : basis.cosine;
}

/**
 * The amount that mode boost adds to the cosine of a chunk that has `matched` of the `wanted` distinct tokens of the
 * query. All of them together add `weight`.
 */
export function boostOf(weight: number, matched: number, wanted: number): number {
  return wanted === 0 ? 0 : (weight * matched) / wanted;
}

/**
 * The priority in a document's metadata, which scales the final score of its hits: the number in the field that the
 * collection's priority_key names, clamped to [-1, 1]; 0 if the field is absent or neither a number nor a numeric
 * string.
 */
export function priorityOf(metadata: Record<string, unknown>, priorityKey: string): number {
  const raw = Object.hasOwn(metadata, priorityKey) ? metadata[priorityKey] : undefined;
  const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
  if (typeof value !== 'number' || Number.isNaN(value)) return 0;
  return Math.min(1, Math.max(-1, value));
}

/**
 * Applies a priority: `score + |score| * priority`. A positive priority always raises a score, a negative one always
 * lowers it.
 */
export function withPriority(score: number, priority: number): number {
  return priority === 0 ? score : score + Math.abs(score) * priority;
}

/**
 * A logistic curve that estimates the probability that a hit is relevant from two numbers that mean the same for every
 * query, embedder and query length. It has a bias and the weights of nearness and coverage, for both together and for
 * each alone. `load quality relevance` fits and evaluates the constants on three judged collections and two embedders.
 */
interface Curve {
  readonly bias: number;
  readonly nearness: number;
  readonly coverage: number;
}

const BOTH: Curve = { bias: -4.93, nearness: 5.3, coverage: 5.03 };
const BY_VECTOR: Curve = { bias: -4.09, nearness: 6.48, coverage: 0 };
const BY_WORDS: Curve = { bias: -3.22, nearness: 0, coverage: 6.7 };

/**
 * The position of a cosine between the mean cosine of the collection's chunks (0) and that of a chunk equal to the
 * query (1).
 */
export function nearnessOf(cosine: number, mean: number): number {
  return mean >= 1 ? 0 : (cosine - mean) / (1 - mean);
}

/**
 * The estimated probability that a hit is relevant, rounded to three places. `coverage` is BM25 divided by the greatest
 * possible BM25. undefined if both inputs are undefined.
 */
export function relevanceOf(nearness: number | undefined, coverage: number | undefined): number | undefined {
  if (nearness === undefined && coverage === undefined) return undefined;
  const { bias, ...weights } = coverage === undefined ? BY_VECTOR : nearness === undefined ? BY_WORDS : BOTH;
  const logit = bias + weights.nearness * (nearness ?? 0) + weights.coverage * (coverage ?? 0);
  return Math.round(1000 / (1 + Math.exp(-logit))) / 1000;
}
