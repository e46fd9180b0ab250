// The two rankings of a part: by vector and by words, each in the exact order of the contract, of the chunks that are allowed. A
// priority changes the score of the vector ranking before the k best are chosen. Shard worker only; called by search.ts.
import type { Ordinal } from '../../src/contract/ids.js';
import type { HybridQuery } from '../../src/contract/ranking.js';
import { BestFirst, takeBest } from '../../src/rank/best-first.js';
import { withPriority } from '../../src/rank/priority.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';
import { breakTies } from './ties.js';
import type { Bitmap } from './words/word-answers.js';
import type { WordIndex } from './words/word-index.js';

export interface Scored {
  ordinal: Ordinal;
  stamp: number;
  score: number;
  /** NaN in the lexical ranking. */
  cosine: number;
}

export interface Depth {
  k: number;
  /** Of all live chunks where it is absent. */
  allowed?: Bitmap | undefined;
}

/** The k nearest chunks, by cosine or, with `prioritized`, by what their priorities make of it. */
export function rankByVector(shard: Shard, part: Part, vector: Float32Array, { k, allowed }: Depth, prioritized: boolean): Scored[] {
  const priorities = prioritized && part.priorities.size > 0 ? part.priorities : undefined;
  const nearest = priorities || allowed ? undefined : nearestByCosine(part, vector, k);
  return breakTies(shard, part, nearest ?? bestOfAll(part, vector, { k, allowed }, priorities)).slice(0, k);
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
function bestOfAll(part: Part, vector: Float32Array, { k, allowed }: Depth, priorities: ReadonlyMap<Ordinal, number> | undefined): Scored[] {
  const cosines = part.index.scores(vector);
  const rows = new Uint32Array(cosines.length);
  const scores = new Float64Array(cosines.length);
  let live = 0;
  for (let row = 0; row < cosines.length; row++) {
    const cosine = cosines[row] as number;
    if (Number.isNaN(cosine) || (allowed && !isSet(allowed, row))) continue;
    rows[live] = row;
    scores[live++] = priorities ? withPriority(cosine, priorities.get(row as Ordinal) ?? 0) : cosine;
  }
  const best = takeBest(new BestFirst(rows.subarray(0, live), scores.subarray(0, live)), k, () => true);
  return best.map(({ item, score }) => ({ ordinal: item as Ordinal, stamp: part.index.stampOf(item), score, cosine: cosines[item] as number }));
}

/** The k best by BM25 of those that have any term of the query. */
export function rankByWords(shard: Shard, part: Part, words: WordIndex, { terms, statistics }: HybridQuery, { k, allowed }: Depth): Scored[] {
  const { ordinals, scores } = words.rankWithTies(terms, statistics, k, allowed);
  const scored = Array.from(ordinals, (ordinal, i): Scored => ({ ordinal: ordinal as Ordinal, stamp: part.index.stampOf(ordinal), score: scores[i] as number, cosine: NaN }));
  return breakTies(shard, part, scored).slice(0, k);
}

const isSet = (bitmap: Bitmap, ordinal: number): boolean => (((bitmap[ordinal >>> 5] ?? 0) >>> (ordinal & 31)) & 1) === 1;
