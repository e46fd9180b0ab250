// Two rankings of the same search: which hits are in both, and how far they moved.
// Used by replay.ts. Pure.

interface RankedHit {
  id: string;
  /** Ranks count from 1; absent where the ranking lacks the hit. */
  now?: number;
  before?: number;
}

export interface RankChanges {
  /** Share of the hits before that are found now; 1 where there were none. */
  overlap: number;
  /** Mean distance of the ranks of a hit that both have. */
  rank_shift: number;
  isSame: boolean;
  /** Those of now in their order, then those that are gone. */
  hits: RankedHit[];
}

export function compareRanks(before: readonly string[], now: readonly string[]): RankChanges {
  const rankBefore = new Map(before.map((id, i) => [id, i + 1]));
  const found = new Set(now);
  const hits: RankedHit[] = now.map((id, i) => ({ id, now: i + 1, before: rankBefore.get(id) }));
  const shifts = hits.flatMap(({ now: rank, before: was }) =>
    rank === undefined || was === undefined ? [] : [Math.abs(rank - was)],
  );
  const gone = before.filter((id) => !found.has(id)).map((id): RankedHit => ({ id, before: rankBefore.get(id) }));
  return {
    overlap: before.length === 0 ? 1 : shifts.length / before.length,
    rank_shift: shifts.length === 0 ? 0 : shifts.reduce((sum, shift) => sum + shift, 0) / shifts.length,
    isSame: before.length === now.length && before.every((id, i) => id === now[i]),
    hits: [...hits, ...gone],
  };
}
