// Takes scored items in descending order of score, one by one: a heap, so that a search which stops early sorts nothing
// (Williams 1964, Floyd's construction). Equal scores come in no particular order. Pure; used by the shard workers.

export class BestFirst {
  private size: number;

  /** Takes `items` and `scores`, of one length, as its own: it changes both. No score may be NaN. */
  constructor(
    private readonly items: Uint32Array,
    private readonly scores: Float64Array,
  ) {
    this.size = items.length;
    for (let at = (this.size >> 1) - 1; at >= 0; at--) this.sink(at);
  }

  /** The best score still here; undefined when there is nothing left. */
  peekScore(): number | undefined {
    return this.size === 0 ? undefined : this.scores[0];
  }

  /** Takes out the item with the best score. Requires that there is one. */
  pop(): number {
    const best = this.items[0] as number;
    this.size--;
    this.items[0] = this.items[this.size] as number;
    this.scores[0] = this.scores[this.size] as number;
    this.sink(0);
    return best;
  }

  private sink(from: number): void {
    const { items, scores, size } = this;
    const item = items[from] as number;
    const score = scores[from] as number;
    let at = from;
    for (let child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && (scores[child + 1] as number) > (scores[child] as number)) child++;
      if ((scores[child] as number) <= score) break;
      items[at] = items[child] as number;
      scores[at] = scores[child] as number;
      at = child;
    }
    items[at] = item;
    scores[at] = score;
  }
}

/**
 * The `k` best items that `admits` lets pass, best first, and all further ones whose score equals the k-th. Asks about
 * an item only when all better ones have been asked about.
 */
export function takeBest(
  source: BestFirst,
  k: number,
  admits: (item: number) => boolean,
): { item: number; score: number }[] {
  const taken: { item: number; score: number }[] = [];
  for (let score = source.peekScore(); score !== undefined; score = source.peekScore()) {
    if (taken.length >= k && score !== taken[taken.length - 1]?.score) break;
    const item = source.pop();
    if (admits(item)) taken.push({ item, score });
  }
  return taken;
}
