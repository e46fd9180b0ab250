// Reciprocal-rank fusion (Cormack, Clarke, Büttcher 2009) of the vector and the lexical ranking, for mode hybrid. Pure.
// Called on the front thread once both rankings are merged over all shards.
import type { Ranks } from '../contract/ranking.js';

const RANK_OFFSET = 60;

export function fusedScore({ vectorRank, lexicalRank }: Ranks): number {
  return reciprocal(vectorRank) + reciprocal(lexicalRank);
}

const reciprocal = (rank: number | undefined): number => (rank === undefined ? 0 : 1 / (RANK_OFFSET + rank));

/** Each key of the two rankings once, with its ranks: those of the vector ranking first, in its order. */
export function fuseRankings<K>(vector: readonly K[], lexical: readonly K[]): Map<K, Ranks> {
  const ranks = new Map<K, Ranks>(vector.map((key, i) => [key, { vectorRank: i + 1 }]));
  lexical.forEach((key, i) => ranks.set(key, { ...ranks.get(key), lexicalRank: i + 1 }));
  return ranks;
}
