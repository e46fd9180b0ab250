// How probable it is that a hit is relevant, by its scores: a logistic curve over two numbers that mean the same for
// every query, every embedder and every length of question. Pure; called by the shard workers. The constants are fitted
// and judged by load/relevance.ts over three judged collections and two embedders.

/** Bias, and what nearness and coverage weigh: together and each alone. */
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
