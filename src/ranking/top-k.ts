// Operations on rankings: the k best with ties, merging the rankings of shards, taking the best items one by one, the
// expected share of a shard in the k best, and recall. Pure functions.
import { compareUtf8 } from '../base/bytes.js';

interface Ranked {
  readonly count: number;
  /** Sorted best first. */
  readonly scores: Float32Array | Float64Array;
}

/**
 * The k best and all that are equal to the k-th, which a ranking needs that breaks ties by other means later. Calls
 * `rank` with growing depths until all of these are there. `first` cuts an answer to a number of hits.
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

/** The position of a hit in the lists that were merged. */
export interface Place {
  shard: number;
  at: number;
}

/** The position of a tied hit: its document and the index of its chunk. */
interface Position {
  docid: string;
  index: number;
}

/**
 * Merges the ranked lists of the shards, each sorted by descending score. Returns the places of the k best, best first,
 * and all further ones whose score is equal to the k-th. Callers break ties by document id and chunk order
 * (`comparePositions`), so that the result does not depend on the number of shards.
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

/**
 * The ranges [start, end) in `places` of equal scores that reach into the first k and have hits of more than one shard.
 */
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

/** Orders tied hits: by the UTF-8 bytes of the document id, then by chunk. */
export function comparePositions(a: Position, b: Position): number {
  return compareUtf8(a.docid, b.docid) || a.index - b.index;
}

/**
 * A binary heap from which scored items are taken one by one, in descending order of score, so that a search which
 * stops early does not sort all items (Williams 1964, with Floyd's construction). The order of equal scores is not
 * defined.
 */
export class BestFirst {
  private size: number;

  /** Takes ownership of `items` and `scores`, which have the same length, and changes them. No score may be NaN. */
  constructor(
    private readonly items: Uint32Array,
    private readonly scores: Float64Array,
  ) {
    this.size = items.length;
    for (let at = (this.size >> 1) - 1; at >= 0; at--) this.sink(at);
  }

  /** The best remaining score; undefined if there is none. */
  peekScore(): number | undefined {
    return this.size === 0 ? undefined : this.scores[0];
  }

  /** Removes the item with the best score and returns it. Requires that there is one. */
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
 * The `k` best items for which `admits` is true, best first, and all further ones whose score is equal to the k-th.
 * `admits` is called in descending order of score, and no more often than necessary.
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

/** A margin in standard deviations above the mean: about one search in a hundred exceeds it in one of two shards. */
const DEVIATIONS = 2.5;

/**
 * How many of the `k` best are to be expected at most in a shard with `share` (0 to 1) of the rows, if hits are
 * distributed by chance (binomial distribution). Never more than `k`. A search of many shards need not look for more in
 * each.
 */
export function hitsIn(k: number, share: number): number {
  return Math.min(k, Math.ceil(k * share + DEVIATIONS * Math.sqrt(k * share * (1 - share))));
}

interface Scored {
  readonly id: string;
  readonly score: number;
}

/** Counts of hits from which recall is computed. */
export interface Recalled {
  readonly found: number;
  /** k, or the number of hits there are if that is less. */
  readonly wanted: number;
}

/**
 * Recall: how many of the true nearest neighbours a search has found. `exact` has the k best, best first. A hit counts
 * if it is among them or scores at least as high as the last of them, since of equal hits any will do.
 */
export function recalled(found: readonly Scored[], exact: readonly Scored[], k: number): Recalled {
  const best = exact.slice(0, k);
  const ids = new Set(best.map(({ id }) => id));
  const lowest = best.at(-1)?.score ?? Infinity;
  const right = found.slice(0, k).filter(({ id, score }) => ids.has(id) || score >= lowest).length;
  return { found: Math.min(right, best.length), wanted: best.length };
}
