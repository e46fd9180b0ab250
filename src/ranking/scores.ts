// What mode hybrid makes of its halves: weighted reciprocal ranks (Cormack, Clarke, Büttcher 2009), or the weighted sum
// of the cosine and of BM25 over the best BM25 of the ranking. Neither depends on how many candidates there are. Pure.
// Called on the front thread once both rankings are merged over all shards, and by the shard workers for what hits
// tell.
import type { Halves, Ranks } from '../contract/ranking.js';
import type { FusionSettings } from '../contract/api/search.js';

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
