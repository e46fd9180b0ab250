// The two rankings of a part: by vector and by words, each in the exact order of the contract. A priority changes the score of
// the vector ranking before the k best are chosen. Filters are asked about chunks from the best down, until enough fit: the
// answer is that of filtering first, without looking at every record. Shard worker only; called by search.ts.
import type { Ordinal } from '../../src/contract/ids.js';
import type { LexicalQuery } from '../../src/contract/ranking.js';
import { BestFirst, takeBest } from '../../src/rank/best-first.js';
import { withPriority } from '../../src/rank/priority.js';
import { completeLexical } from './count-terms.js';
import type { Narrower } from './narrower.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';
import { breakTies } from './ties.js';

export interface Scored {
  ordinal: Ordinal;
  stamp: number;
  score: number;
  /** NaN in the lexical ranking. */
  cosine: number;
}

export interface Depth {
  k: number;
  narrower?: Narrower | undefined;
}

/** The k nearest chunks, by cosine or, with `prioritized`, by what their priorities make of it. */
export function rankByVector(shard: Shard, part: Part, vector: Float32Array, { k, narrower }: Depth, prioritized: boolean): Scored[] {
  const priorities = prioritized && part.priorities.size > 0 ? part.priorities : undefined;
  const nearest = priorities || narrower ? undefined : nearestByCosine(part, vector, k);
  return breakTies(shard, part, nearest ?? bestOfAll(part, vector, { k, narrower }, priorities)).slice(0, k);
}

/** The k nearest and one more; undefined where these two are equal, for then more may be equal that were not seen. */
function nearestByCosine(part: Part, vector: Float32Array, k: number): Scored[] | undefined {
  const { count, ordinals, stamps, scores } = part.index.search(vector, k + 1);
  if (count > k && scores[k] === scores[k - 1]) return undefined;
  return Array.from({ length: count }, (_, i) => {
    const cosine = scores[i] as number;
    return { ordinal: ordinals[i] as Ordinal, stamp: stamps[i] as number, cosine, score: cosine };
  });
}

/** Scores every chunk and keeps the k best that fit, with all that equal the k-th: a lifted one may come from far below the k nearest. */
function bestOfAll(part: Part, vector: Float32Array, depth: Depth, priorities: ReadonlyMap<Ordinal, number> | undefined): Scored[] {
  const cosines = part.index.scores(vector);
  const rows = new Uint32Array(cosines.length);
  const scores = new Float64Array(cosines.length);
  let live = 0;
  for (let row = 0; row < cosines.length; row++) {
    const cosine = cosines[row] as number;
    if (Number.isNaN(cosine)) continue; // Not live.
    rows[live] = row;
    scores[live++] = priorities ? withPriority(cosine, priorities.get(row as Ordinal) ?? 0) : cosine;
  }
  return best(part, new BestFirst(rows.subarray(0, live), scores.subarray(0, live)), depth, (row) => cosines[row] as number);
}

/** The k best by BM25 of those that have any word of the query. */
export function rankByWords(shard: Shard, part: Part, { terms, statistics }: LexicalQuery, depth: Depth): Scored[] {
  const ranked = completeLexical(shard, part).rank(terms, statistics);
  return breakTies(shard, part, best(part, ranked, depth, () => NaN)).slice(0, depth.k);
}

function best(part: Part, source: BestFirst, { k, narrower }: Depth, cosineOf: (row: number) => number): Scored[] {
  const admits = narrower ? (row: number) => narrower.admits(row) : () => true;
  return takeBest(source, k, admits).map(({ item, score }) => ({ ordinal: item as Ordinal, stamp: part.index.stampOf(item), score, cosine: cosineOf(item) }));
}
