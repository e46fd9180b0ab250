// BM25 (Robertson et al., Okapi at TREC-3) with the idf of Lucene, which is never negative. The statistics are those of
// the whole collection, so scores do not depend on the number of shards. Pure functions.

/**
 * Statistics of a collection or of a part of one: the number of chunks with text, the number of their tokens, and for
 * each query term the number of chunks that have it.
 */
export interface LexicalStatistics {
  chunks: number;
  tokens: number;
  frequencies: number[];
  /** Occurrences of each term in the query, times its weight; 1 each if absent. */
  counts?: number[];
  /**
   * The group of each term, if terms stand for the same word. The alternatives of a word, all but its first term, weigh
   * as if each were as frequent as the most frequent of them, so that a rare misspelling is worth no more than the word.
   */
  groups?: number[];
}

const K1 = 1.2;
const B = 0.75;

/** Sums up statistics. `counts` has the occurrences of each term in the query; `groups` as in the result. */
export function sumStatistics(
  parts: readonly LexicalStatistics[],
  counts: number[],
  groups?: number[],
): LexicalStatistics {
  const sum = (of: (part: LexicalStatistics) => number): number => parts.reduce((total, part) => total + of(part), 0);
  const frequencies = counts.map((_, term) => sum(({ frequencies: own }) => own[term] ?? 0));
  return {
    chunks: sum(({ chunks }) => chunks),
    tokens: sum(({ tokens }) => tokens),
    frequencies: groups ? sharedFrequencies(frequencies, groups) : frequencies,
    counts,
    ...(groups && { groups }),
  };
}

function sharedFrequencies(frequencies: readonly number[], groups: readonly number[]): number[] {
  const most = new Map<number, number>();
  groups.forEach((group, term) => most.set(group, Math.max(most.get(group) ?? 0, frequencies[term] as number)));
  return frequencies.map((own, term) =>
    groups[term] === groups[term - 1] ? (most.get(groups[term] as number) as number) : own,
  );
}

/**
 * The constants of a query for the kernel. The kernel's scores are integers, BM25 times `scale`, so that sums do not
 * depend on their order.
 */
export interface Bm25 {
  /**
   * For each term: occurrences in the query * idf * (k1 + 1) * scale. A term that occurs twice in the query counts
   * twice, as in Lucene, where Robertson's k3 is infinite.
   */
  readonly factors: Float32Array;
  /**
   * A term that occurs `count` times in a chunk of `length` tokens weighs trunc(factor / (1 + (norm + normPerToken *
   * length) / count)) + 1, in float32.
   */
  readonly norm: number;
  readonly normPerToken: number;
  /** A power of two for which the sum of all factors stays below 2^31. */
  readonly scale: number;
}

/** Computes the constants of a query from its statistics. */
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

/** The idf of each term. */
export const idfsOf = ({ chunks, frequencies }: Pick<LexicalStatistics, 'chunks' | 'frequencies'>): number[] =>
  frequencies.map((frequency) => idfOf(chunks, frequency));

/** The greatest BM25 score that a chunk can have with one term of each group. */
export function greatestBm25(statistics: LexicalStatistics): number {
  const { groups } = statistics;
  const most = new Map<number, number>();
  greatestOfEach(statistics).forEach((greatest, term) => {
    const group = groups?.[term] ?? term;
    most.set(group, Math.max(most.get(group) ?? 0, greatest));
  });
  return [...most.values()].reduce((sum, greatest) => sum + greatest, 0);
}

const greatestOfEach = ({ chunks, frequencies, counts }: LexicalStatistics): number[] =>
  idfsOf({ chunks, frequencies }).map((idf, term) => (counts?.[term] ?? 1) * idf * (K1 + 1));

/** Writes between counting and scoring may leave a frequency greater than the number of chunks. */
function idfOf(chunks: number, frequency: number): number {
  return Math.log(1 + (Math.max(chunks, frequency) - frequency + 0.5) / (frequency + 0.5));
}
