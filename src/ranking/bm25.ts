// BM25 (Robertson et al., Okapi at TREC-3; the idf is Lucene's, which is never negative), with statistics over the
// whole collection, so that a score does not depend on how many shards there are. Pure.

/**
 * Of a collection, or of a part of one: chunks with text, their terms, and for each term of a query the chunks that
 * have it.
 */
export interface LexicalStatistics {
  chunks: number;
  tokens: number;
  frequencies: number[];
  /** How often each term stands in the query; once where absent. */
  counts?: number[];
}

const K1 = 1.2;
const B = 0.75;

/** `counts`: how often each term stands in the query. */
export function sumStatistics(parts: readonly LexicalStatistics[], counts: number[]): LexicalStatistics {
  const sum = (of: (part: LexicalStatistics) => number): number => parts.reduce((total, part) => total + of(part), 0);
  return {
    chunks: sum(({ chunks }) => chunks),
    tokens: sum(({ tokens }) => tokens),
    frequencies: counts.map((_, term) => sum(({ frequencies }) => frequencies[term] ?? 0)),
    counts,
  };
}

/**
 * The constants of a question, as the kernel takes them: scores are whole numbers, `scale` to one, so that sums do not
 * depend on their order.
 */
export interface Bm25 {
  /**
   * For each term: count in the query * idf * (k1 + 1) * scale. A term that stands twice counts twice, as in Lucene:
   * Robertson's k3 is taken for infinite.
   */
  readonly factors: Float32Array;
  /**
   * A term that occurs `count` times in a chunk of `length` weighs trunc(factor / (1 + (norm + normPerToken * length) /
   * count)) + 1, in float32.
   */
  readonly norm: number;
  readonly normPerToken: number;
  /** A power of two: the sum of all factors stays below 2^31. */
  readonly scale: number;
}

export function bm25Of(statistics: LexicalStatistics): Bm25 {
  const { chunks, tokens } = statistics;
  const most = greatestOfEach(statistics);
  const sum = most.reduce((total, weight) => total + weight, 0);
  const scale = 2 ** Math.floor(30 - Math.log2(Math.max(sum, 1)));
  const meanLength = Math.max(1, tokens) / Math.max(1, chunks);
  return {
    factors: Float32Array.from(most, (weight) => weight * scale),
    norm: Math.fround(K1 * (1 - B)),
    normPerToken: Math.fround((K1 * B) / meanLength),
    scale,
  };
}

/** How rare each term is: what it weighs. */
export const idfsOf = ({ chunks, frequencies }: Pick<LexicalStatistics, 'chunks' | 'frequencies'>): number[] =>
  frequencies.map((frequency) => idfOf(chunks, frequency));

/** What no chunk's score exceeds. */
export const greatestBm25 = (statistics: LexicalStatistics): number =>
  greatestOfEach(statistics).reduce((sum, greatest) => sum + greatest, 0);

const greatestOfEach = ({ chunks, frequencies, counts }: LexicalStatistics): number[] =>
  idfsOf({ chunks, frequencies }).map((idf, term) => (counts?.[term] ?? 1) * idf * (K1 + 1));

/** Writes between the counting and the scoring may leave more occurrences than chunks counted. */
function idfOf(chunks: number, frequency: number): number {
  return Math.log(1 + (Math.max(chunks, frequency) - frequency + 0.5) / (frequency + 0.5));
}
