// The score of a hit: what each mode makes of a cosine and of BM25, what the priority of its document makes of that, and
// how probable it is that the hit is relevant. Pure.
import { FUSION_K_DEFAULT, FUSION_WEIGHTS_DEFAULT } from '../api/limits.js';
import type { FusionSettings, FusionWeights } from '../api/search.js';

/** Ranks from 1; undefined where the ranking does not have the chunk. */
export interface Ranks {
  vectorRank?: number;
  lexicalRank?: number;
}

/**
 * What the halves of mode hybrid say of a chunk: of a half that does not have it, nothing; in score fusion both know
 * their scores.
 */
export interface Halves extends Readonly<Ranks> {
  readonly cosine?: number;
  readonly bm25?: number;
  /** BM25 over the best of the ranking. */
  readonly share?: number;
}

/** How a hit got its score before the priority. */
export type Basis =
  | { readonly mode: 'vector'; readonly cosine: number; readonly vectorRank?: number }
  | {
      readonly mode: 'boost';
      readonly cosine: number;
      readonly vectorRank?: number;
      readonly boost: number;
      readonly matched: number;
      readonly wanted: number;
    }
  | ({ readonly mode: 'hybrid'; readonly fusion: FusionSettings } & Halves);

/**
 * What mode hybrid makes of its halves: weighted reciprocal ranks (Cormack, Clarke, Büttcher 2009), or the weighted sum
 * of the cosine and of BM25 over the best BM25 of the ranking. Neither depends on how many candidates there are.
 */
export function fusedScore(fusion: FusionSettings, { vectorRank, lexicalRank, cosine = 0, share = 0 }: Halves): number {
  const { weights } = fusion;
  if (fusion.method === 'score') return weights.vector * cosine + weights.lexical * share;
  return reciprocal(weights.vector, fusion.k, vectorRank) + reciprocal(weights.lexical, fusion.k, lexicalRank);
}

const reciprocal = (weight: number, k: number, rank: number | undefined): number =>
  rank === undefined ? 0 : weight / (k + rank);

/** Each key of the two rankings once, with its ranks: those of the vector ranking first, in its order. */
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
 * How a search in mode hybrid fuses its halves: what it says itself, then what the instance says where that is of the
 * same method, then the defaults.
 */
export function fusionSettings({ method, k, weights }: FusionWish, instance?: FusionSettings): FusionSettings {
  const same = instance?.method === method ? instance : undefined;
  const weighed = { ...(weights ?? same?.weights ?? FUSION_WEIGHTS_DEFAULT[method]) };
  if (method === 'score') return { method, weights: weighed };
  return { method, k: k ?? (same?.method === 'rank' ? same.k : FUSION_K_DEFAULT), weights: weighed };
}

/** The score of a hit before its priority, out of what it was found by. */
export function scoreOf(basis: Basis): number {
  if (basis.mode === 'hybrid') return fusedScore(basis.fusion, basis);
  return basis.mode === 'boost' ? basis.cosine + basis.boost : basis.cosine;
}

/**
 * The nudge of mode boost for the words of the query that a chunk holds, to be added to its cosine: `matched` of the `wanted` distinct tokens of the query stand in the chunk; all of them are worth
 * `weight`.
 */
export function boostOf(weight: number, matched: number, wanted: number): number {
  return wanted === 0 ? 0 : (weight * matched) / wanted;
}

/**
 * The priority in a document's metadata, which scales the final score of its hits: the number in the field that a
 * collection's priority_key names, clamped to [-1, 1]; 0 when the field is absent or neither a number nor a numeric
 * string.
 */
export function priorityOf(metadata: Record<string, unknown>, priorityKey: string): number {
  const raw = Object.hasOwn(metadata, priorityKey) ? metadata[priorityKey] : undefined;
  const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
  if (typeof value !== 'number' || Number.isNaN(value)) return 0;
  return Math.min(1, Math.max(-1, value));
}

/** `score + |score| * priority`: a positive priority always lifts, a negative one always lowers. */
export function withPriority(score: number, priority: number): number {
  return priority === 0 ? score : score + Math.abs(score) * priority;
}

/**
 * How probable it is that a hit is relevant, by its scores: a logistic curve over two numbers that mean the same for
 * every query, every embedder and every length of question. Bias, and what nearness and coverage weigh: together and
 * each alone. The constants are fitted and judged by `load quality relevance` over three judged collections and two embedders.
 */
interface Curve {
  readonly bias: number;
  readonly nearness: number;
  readonly coverage: number;
}

const BOTH: Curve = { bias: -4.93, nearness: 5.3, coverage: 5.03 };
const BY_VECTOR: Curve = { bias: -4.09, nearness: 6.48, coverage: 0 };
const BY_WORDS: Curve = { bias: -3.22, nearness: 0, coverage: 6.7 };

/** Where a cosine stands between that of any chunk, 0, and that of a chunk that is the query itself, 1. */
export function nearnessOf(cosine: number, mean: number): number {
  return mean >= 1 ? 0 : (cosine - mean) / (1 - mean);
}

/**
 * `coverage`: BM25 over the greatest that a chunk could have. undefined where neither is known. To three places: more
 * would be pretence.
 */
export function relevanceOf(nearness: number | undefined, coverage: number | undefined): number | undefined {
  if (nearness === undefined && coverage === undefined) return undefined;
  const { bias, ...weights } = coverage === undefined ? BY_VECTOR : nearness === undefined ? BY_WORDS : BOTH;
  const logit = bias + weights.nearness * (nearness ?? 0) + weights.coverage * (coverage ?? 0);
  return Math.round(1000 / (1 + Math.exp(-logit))) / 1000;
}
