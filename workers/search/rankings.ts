// The two rankings of a part: by vector and by words, of the chunks that are allowed, with all that equal the k-th
// (ties.ts cuts them). A priority changes the score of the vector ranking before the k best are chosen. Search workers
// only; called by rank-part.ts.
import type { Ordinal } from '../../src/contract/ids.js';
import type { HybridQuery } from '../../src/contract/ranking.js';
import { BestFirst, takeBest } from '../../src/rank/best-first.js';
import { withPriority } from '../../src/rank/priority.js';
import { emptyBitmap, fullBitmap, intersect, ordinalsIn, setBit, subtract } from '../shard/bitmaps.js';
import type { PartView } from '../shard/part-view.js';
import type { Bitmap } from '../shard/words/word-answers.js';
import type { WordIndex } from '../shard/words/word-index.js';

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
  ef?: number | undefined;
  exact?: boolean | undefined;
  /** Of all chunks that are searched, those of the part. */
  share?: number | undefined;
}

/** The k nearest chunks, by cosine or, with `prioritized`, by what their priorities make of it. */
export function rankByVector(part: PartView, vector: Float32Array, depth: Depth, prioritized: boolean): Scored[] {
  return prioritized && part.priorities.count > 0
    ? nearestLifted(part, vector, depth)
    : nearestByCosine(part, vector, depth);
}

/** With all that equal the k-th. */
function nearestByCosine(part: PartView, vector: Float32Array, depth: Depth): Scored[] {
  const { ordinals, stamps, scores } = part.index.searchWithTies(vector, depth.k, depth);
  const found: Scored[] = [];
  for (let i = 0; i < ordinals.length; i++) {
    const cosine = scores[i] as number;
    found.push({ ordinal: ordinals[i] as Ordinal, stamp: stamps[i] as number, cosine, score: cosine });
  }
  return found;
}

/**
 * A chunk that is lifted may come from far below the k nearest: those with a priority are all scored, the others ranked
 * as ever.
 */
function nearestLifted(
  part: PartView,
  vector: Float32Array,
  { k, allowed = fullBitmap(part.index.end), ...breadth }: Depth,
): Scored[] {
  const isMany = part.priorities.count > SCORED_SHARE_MAX * part.index.liveCount;
  const lifted = isMany ? allowed : intersect(allowed, part.priorities.bitmap());
  const others = isMany ? [] : nearestByCosine(part, vector, { k, ...breadth, allowed: subtract(allowed, lifted) });
  return [...others, ...bestOf(part, vector, k, Uint32Array.from(ordinalsIn(lifted)))].sort(
    (a, b) => b.score - a.score,
  );
}

/** Scores all of the rows that are live, and keeps the k best with all that equal the k-th. */
function bestOf({ index, priorities }: PartView, vector: Float32Array, k: number, rows: Uint32Array): Scored[] {
  const cosines = index.scoresOf(vector, rows);
  const live = Uint32Array.from(rows.keys()).filter((i) => !Number.isNaN(cosines[i]));
  const scores = Float64Array.from(live, (i) => withPriority(cosines[i] as number, priorities.of(rows[i] as Ordinal)));
  return takeBest(new BestFirst(live, scores), k, () => true).map(({ item, score }) => {
    const ordinal = rows[item] as Ordinal;
    return { ordinal, stamp: index.stampOf(ordinal), score, cosine: cosines[item] as number };
  });
}

/** The k best by BM25 of those that have any term of the query. */
export function rankByWords(
  part: PartView,
  words: WordIndex,
  { terms, statistics }: HybridQuery,
  { k, allowed }: Depth,
): Scored[] {
  const first = words.rankWithTies(terms, statistics, k, allowed);
  // Of a document that leaves the words stay for a while: they are no hits, and take the place of none.
  const { ordinals, scores } = first.ordinals.every((ordinal) => part.index.isLive(ordinal))
    ? first
    : words.rankWithTies(terms, statistics, k, liveIn(part, allowed));
  return Array.from(
    ordinals,
    (ordinal, i): Scored => ({
      ordinal: ordinal as Ordinal,
      stamp: part.index.stampOf(ordinal),
      score: scores[i] as number,
      cosine: NaN,
    }),
  );
}

function liveIn({ index }: PartView, allowed = fullBitmap(index.end)): Bitmap {
  const { end } = index;
  const live = emptyBitmap(end);
  for (let ordinal = 0; ordinal < end; ordinal++) if (index.isLive(ordinal)) setBit(live, ordinal);
  return intersect(live, allowed);
}
