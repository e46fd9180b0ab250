// Recall: how many of the true nearest a search has found. Pure.
// Called by the use cases that measure it, on the front thread.

interface Scored {
  readonly id: string;
  readonly score: number;
}

export interface Recalled {
  readonly found: number;
  /** k, or as many as there are. */
  readonly wanted: number;
}

/**
 * `exact` has the k best, best first. A hit counts where it is among them, or scores as high as the last of them: of
 * equal ones any will do.
 */
export function recalled(found: readonly Scored[], exact: readonly Scored[], k: number): Recalled {
  const best = exact.slice(0, k);
  const ids = new Set(best.map(({ id }) => id));
  const lowest = best.at(-1)?.score ?? Infinity;
  const right = found.slice(0, k).filter(({ id, score }) => ids.has(id) || score >= lowest).length;
  return { found: Math.min(right, best.length), wanted: best.length };
}
