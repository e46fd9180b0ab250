// Two lists of hits beside each other: which both have, and how far each has moved.
// Pure; for comparisons and replays.

export interface RankDiff {
  /** By id: the rank in the other list, from 1; absent where the other has it not. */
  readonly otherRank: ReadonlyMap<string, number>;
  /** Share of the ids of the longer list that both have; 1 of two empty ones. */
  readonly overlap: number;
  /** Mean distance of the ranks of those that both have; null where there are none. */
  readonly shift: number | null;
}

/** As seen from `own`. An id that comes twice counts where it comes first. */
export function rankDiff(own: readonly string[], other: readonly string[]): RankDiff {
  const ranks = ranksOf(other);
  const mine = ranksOf(own);
  const shared = [...mine].filter(([id]) => ranks.has(id));
  const distance = shared.reduce((sum, [id, rank]) => sum + Math.abs(rank - (ranks.get(id) as number)), 0);
  const longer = Math.max(mine.size, ranks.size);
  return {
    otherRank: new Map(shared.map(([id]) => [id, ranks.get(id) as number])),
    overlap: longer === 0 ? 1 : shared.length / longer,
    shift: shared.length === 0 ? null : distance / shared.length,
  };
}

function ranksOf(ids: readonly string[]): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const [i, id] of ids.entries()) if (!ranks.has(id)) ranks.set(id, i + 1);
  return ranks;
}
