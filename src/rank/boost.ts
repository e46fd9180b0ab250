// The nudge of mode boost for the words of the query that a chunk holds, to be added to its cosine. Pure.
// Called on the front thread for the candidates of a search.

/** `matched` of the `wanted` distinct tokens of the query stand in the chunk; all of them are worth `weight`. */
export function boostOf(weight: number, matched: number, wanted: number): number {
  return wanted === 0 ? 0 : (weight * matched) / wanted;
}
