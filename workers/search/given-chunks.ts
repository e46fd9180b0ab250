// What given chunks of a part score by words and by vector, for searches that want both scores of every candidate, and
// for what hits tell of themselves. Search workers only; called by rank-part.ts and hit-details.ts.
import type { CosineSample, HybridQuery } from '../../src/contract/ranking.js';
import { bitmapOf } from '../shard/bitmaps.js';
import type { PartView } from '../shard/part-view.js';
import type { WordIndex } from '../shard/words/word-index.js';

/** Rows that tell how near chunks are to a query as a rule. */
const SAMPLE_ROWS = 256;

/** BM25 of each; 0 for a chunk that has none of the terms. */
export function wordScores(
  words: WordIndex,
  { terms, statistics }: Omit<HybridQuery, 'mode'>,
  ordinals: Uint32Array,
): Float64Array {
  if (ordinals.length === 0 || terms.length === 0) return new Float64Array(ordinals.length);
  const ranked = words.rank(terms, statistics, ordinals.length, bitmapOf(ordinals, Math.max(...ordinals) + 1));
  const scores = new Map(Array.from(ranked.ordinals, (ordinal, i) => [ordinal, ranked.scores[i] as number]));
  return Float64Array.from(ordinals, (ordinal) => scores.get(ordinal) ?? 0);
}

/** NaN for a chunk that is not live. */
export function cosinesOf(part: PartView, vector: Float32Array, ordinals: Uint32Array): Float32Array {
  if (ordinals.length === 0) return new Float32Array(0);
  return part.index.scoresOf(vector, ordinals);
}

/** Of about 256 rows, evenly spread over the part; of all of a small part. */
export function sampleCosines(part: PartView, vector: Float32Array): CosineSample {
  const { end } = part.index;
  const step = Math.max(1, Math.floor(end / SAMPLE_ROWS));
  const rows = Uint32Array.from({ length: Math.ceil(end / step) }, (_, i) => i * step);
  const cosines = cosinesOf(part, vector, rows).filter((cosine) => !Number.isNaN(cosine));
  return { count: cosines.length, sum: cosines.reduce((sum, cosine) => sum + cosine, 0) };
}
