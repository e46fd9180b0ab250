// The two rankings of a part: by vector and by words, each in the exact order of the contract, of the chunks that are allowed. A
// priority changes the score of the vector ranking before the k best are chosen. Shard worker only; called by search.ts.
import type { Ordinal } from '../../src/contract/ids.js';
import type { HybridQuery } from '../../src/contract/ranking.js';
import { BestFirst, takeBest } from '../../src/rank/best-first.js';
import { withPriority } from '../../src/rank/priority.js';
import { bitmapOf, fullBitmap, intersect, ordinalsIn, subtract } from './bitmaps.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';
import { breakTies } from './ties.js';
import type { Bitmap } from './words/word-answers.js';
import type { WordIndex } from './words/word-index.js';

/** Where more of a part's chunks have a priority, all are scored: then that is less work than a search beside it. */
const SCORED_SHARE_MAX = 0.25;

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
export function rankByVector(shard: Shard, part: Part, vector: Float32Array, depth: Depth, prioritized: boolean): Scored[] {
  const nearest = prioritized && part.priorities.size > 0 ? nearestLifted(part, vector, depth) : nearestByCosine(part, vector, depth);
  return breakTies(shard, part, nearest).slice(0, depth.k);
}

/** With all that equal the k-th. */
function nearestByCosine(part: Part, vector: Float32Array, { k, allowed }: Depth): Scored[] {
  const { ordinals, stamps, scores } = part.index.searchWithTies(vector, k, { allowed });
  return Array.from(ordinals, (ordinal, i): Scored => {
    const cosine = scores[i] as number;
    return { ordinal: ordinal as Ordinal, stamp: stamps[i] as number, cosine, score: cosine };
  });
}

/** A chunk that is lifted may come from far below the k nearest: those with a priority are all scored, the others ranked as ever. */
function nearestLifted(part: Part, vector: Float32Array, { k, allowed = fullBitmap(part.ordinals.end) }: Depth): Scored[] {
  const isMany = part.priorities.size > SCORED_SHARE_MAX * part.index.liveCount;
  const lifted = isMany ? allowed : intersect(allowed, bitmapOf(part.priorities.keys(), part.ordinals.end));
  const others = isMany ? [] : nearestByCosine(part, vector, { k, allowed: subtract(allowed, lifted) });
  return [...others, ...bestOf(part, vector, k, Uint32Array.from(ordinalsIn(lifted)))].sort((a, b) => b.score - a.score);
}

/** Scores all of the rows that are live, and keeps the k best with all that equal the k-th. */
function bestOf({ index, priorities }: Part, vector: Float32Array, k: number, rows: Uint32Array): Scored[] {
  const cosines = index.scoresOf(vector, rows);
  const live = Uint32Array.from(rows.keys()).filter((i) => !Number.isNaN(cosines[i]));
  const scores = Float64Array.from(live, (i) => withPriority(cosines[i] as number, priorities.get(rows[i] as Ordinal) ?? 0));
  return takeBest(new BestFirst(live, scores), k, () => true).map(({ item, score }) => {
    const ordinal = rows[item] as Ordinal;
    return { ordinal, stamp: index.stampOf(ordinal), score, cosine: cosines[item] as number };
  });
}

/** The k best by BM25 of those that have any term of the query. */
export function rankByWords(shard: Shard, part: Part, words: WordIndex, { terms, statistics }: HybridQuery, { k, allowed }: Depth): Scored[] {
  const { ordinals, scores } = words.rankWithTies(terms, statistics, k, allowed);
  const scored = Array.from(ordinals, (ordinal, i): Scored => ({ ordinal: ordinal as Ordinal, stamp: part.index.stampOf(ordinal), score: scores[i] as number, cosine: NaN }));
  return breakTies(shard, part, scored).slice(0, k);
}
