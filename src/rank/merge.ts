// Merges the ranked lists of the shards into one, with ties broken by document id and chunk order, so that the answer
// does not depend on the number of shards. Pure; runs on the front thread.

/** Position of a hit in the lists that were merged. */
export interface Place {
  shard: number;
  at: number;
}

/** Where a tied hit stands in its document. */
export interface Position {
  docid: string;
  index: number;
}

/**
 * The places of the k best of `lists`, best first, and all further ones whose score equals the k-th.
 * Each list is sorted by descending score.
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

/** Order of document ids, and of chunk ids: by their UTF-8 bytes, as the store lists them. */
export function compareDocIds(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at === end ? a.length - b.length : inUtf8(a.charCodeAt(at)) - inUtf8(b.charCodeAt(at));
}

/** Surrogates stand for what comes behind all other characters. */
const inUtf8 = (unit: number): number => ((unit & 0xf800) === 0xd800 ? unit + 0x10000 : unit);

export function comparePositions(a: Position, b: Position): number {
  return compareDocIds(a.docid, b.docid) || a.index - b.index;
}
