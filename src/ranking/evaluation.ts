// Quality of rankings by judgements: nDCG, recall, reciprocal rank, and bootstrap intervals of their means. Pure.
import { createPrng } from '../base/prng.js';

/** Ranks that nDCG looks at. */
const NDCG_DEPTH = 10;

/** Relevance of documents for one query; documents without a grade have grade 0. */
export type Grades<Id> = ReadonlyMap<Id, number>;

/**
 * nDCG@10 of a ranking, best first, with at least 10 items if there are that many: the discounted cumulative gain
 * (Järvelin and Kekäläinen, 2002), with the grade as gain, as a share of the best possible one. From 0 to 1.
 */
export function ndcgOf<Id>(ranking: readonly Id[], grades: Grades<Id>): number {
  const ideal = gainOf([...grades.values()].sort((a, b) => b - a));
  return ideal === 0 ? 0 : gainOf(ranking.map((id) => grades.get(id) ?? 0)) / ideal;
}

function gainOf(grades: readonly number[]): number {
  return grades.slice(0, NDCG_DEPTH).reduce((sum, grade, rank) => sum + Math.max(grade, 0) / Math.log2(rank + 2), 0);
}

/** Share of the relevant documents in the ranking. */
export function recallOf<Id>(ranking: readonly Id[], grades: Grades<Id>): number {
  const wanted = [...grades].filter(([, grade]) => grade > 0);
  const found = new Set(ranking);
  return wanted.length === 0 ? 0 : wanted.filter(([id]) => found.has(id)).length / wanted.length;
}

/** 1 divided by the rank of the first relevant document; 0 if there is none. */
export function reciprocalRankOf<Id>(ranking: readonly Id[], grades: Grades<Id>): number {
  const rank = ranking.findIndex((id) => (grades.get(id) ?? 0) > 0);
  return rank < 0 ? 0 : 1 / (rank + 1);
}

export const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

const RESAMPLES = 2000;

/**
 * The 95 % interval of a mean by the bootstrap (Efron 1979, percentiles of the means of 2,000 samples drawn with
 * replacement). The same seed gives the same interval.
 */
export function bootstrapInterval(values: readonly number[], seed: number): [low: number, high: number] {
  if (values.length === 0) return [0, 0];
  const prng = createPrng(seed);
  const means = Float64Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[prng.int(values.length)] as number;
    return sum / values.length;
  }).sort();
  const at = (share: number): number => means[Math.floor(share * (RESAMPLES - 1))] as number;
  return [at(0.025), at(0.975)];
}
