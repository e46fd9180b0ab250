// The `match_reason` of a hit: how its score was made, in the words that clients of this interface already parse. Pure.
// Called by the shard workers when they hydrate hits.

/** Reason of a hit in mode vector: its cosine, then what the priority made of it. */
export function vectorReason(cosine: number, score: number, priority: number, priorityKey: string): string {
  const base = `vector: cosine ${cosine.toFixed(3)}`;
  return priority === 0 ? base : `${base}; ${priorityReason(priorityKey, priority, cosine, score)}`;
}

function priorityReason(key: string, priority: number, before: number, after: number): string {
  const sign = priority < 0 ? '-' : '+';
  return `priority: ${key} ${sign}${Math.abs(priority).toFixed(2)}, ${before.toFixed(3)} -> ${after.toFixed(3)}`;
}
