// The best of a ranking: its k best with ties, the lists of shards merged into one, the best taken one by one, how many
// of the best a part may have, and recall. Pure.
import { compareUtf8 } from '../base/bytes.js';

interface Ranked {
  readonly count: number;
  /** Best first. */
  readonly scores: Float32Array | Float64Array;
}

/**
 * The k best with all that equal the k-th: a ranking that goes on to break ties by other means needs every one of them.
 * Asks for more and more until the k-th best and all that equal it are there. `first` cuts an answer.
 */
export function withTies<A extends Ranked>(
  k: number,
  rank: (depth: number) => A,
  first: (answer: A, count: number) => A,
): A {
  for (let depth = k + 1; ; depth *= 4) {
    const answer = rank(depth);
    let end = Math.min(k, answer.count);
    while (end < answer.count && answer.scores[end] === answer.scores[k - 1]) end++;
    if (end < answer.count || answer.count < depth) return first(answer, end);
  }
}

/** Position of a hit in the lists that were merged. */
export interface Place {
  shard: number;
  at: number;
}

/** Where a tied hit stands in its document. */
interface Position {
  docid: string;
  index: number;
}

/**
 * Merges the ranked lists of the shards into one, with ties broken by document id and chunk order, so that the answer
 * does not depend on the number of shards. Answers the places of the k best of `lists`, best first, and all further ones whose
 * score equals the k-th. Each list is sorted by descending score.
 */
export function mergeRanked(lists: readonly ArrayLike<number>[], k: number): Place[] {
  const next = lists.map(() => 0);
  const merged: Place[] = [];
  let last = Number.NaN;
  for (;;) {
    let best = -1;
    let bestScore = -Infinity;
    for (let shard = 0; shard < lists.length; shard++) {
      const score = lists[shard]?.[next[shard] as number];
      if (score !== undefined && (best < 0 || score > bestScore)) [best, bestScore] = [shard, score];
    }
    if (best < 0 || (merged.length >= k && bestScore !== last)) return merged;
    merged.push({ shard: best, at: (next[best] as number)++ });
    last = bestScore;
  }
}

/** Runs of equal score that reach into the first k and hold hits of more than one shard: [start, end) in `places`. */
export function crossShardTies(
  lists: readonly ArrayLike<number>[],
  places: readonly Place[],
  k: number,
): [number, number][] {
  const scoreAt = (i: number): number | undefined => {
    const place = places[i];
    return place && lists[place.shard]?.[place.at];
  };
  const runs: [number, number][] = [];
  if (lists.length < 2) return runs;
  for (let start = 0; start < Math.min(k, places.length); ) {
    let end = start + 1;
    while (end < places.length && scoreAt(end) === scoreAt(start)) end++;
    if (places.slice(start, end).some(({ shard }) => shard !== places[start]?.shard)) runs.push([start, end]);
    start = end;
  }
  return runs;
}

export function comparePositions(a: Position, b: Position): number {
  return compareUtf8(a.docid, b.docid) || a.index - b.index;
}

/**
 * Takes scored items in descending order of score, one by one: a heap, so that a search which stops early sorts nothing
 * (Williams 1964, Floyd's construction). Equal scores come in no particular order.
 */
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

/** So many standard deviations above the mean: one search in a hundred finds more in one of two parts. */
const DEVIATIONS = 2.5;

/**
 * How many of the best of a whole to expect in a part of it: what a search of many shards need not look for in each.
 * The most of the `k` best that a part with `share` (0 to 1) of the rows has, where they are spread by chance (a
 * binomial distribution); at most k.
 */
export function hitsIn(k: number, share: number): number {
  return Math.min(k, Math.ceil(k * share + DEVIATIONS * Math.sqrt(k * share * (1 - share))));
}

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
 * Recall: how many of the true nearest a search has found. `exact` has the k best, best first. A hit counts where it is
 * among them, or scores as high as the last of them: of equal ones any will do.
 */
export function recalled(found: readonly Scored[], exact: readonly Scored[], k: number): Recalled {
  const best = exact.slice(0, k);
  const ids = new Set(best.map(({ id }) => id));
  const lowest = best.at(-1)?.score ?? Infinity;
  const right = found.slice(0, k).filter(({ id, score }) => ids.has(id) || score >= lowest).length;
  return { found: Math.min(right, best.length), wanted: best.length };
}
