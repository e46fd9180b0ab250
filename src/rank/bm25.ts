// BM25 (Robertson et al., Okapi at TREC-3; the idf is Lucene's, which is never negative), with statistics over the whole
// collection, so that a score does not depend on how many shards there are. Pure; called by the lexical index of each shard.
import type { LexicalStatistics } from '../contract/ranking.js';

const K1 = 1.2;
const B = 0.75;

export function sumStatistics(parts: readonly LexicalStatistics[], terms: number): LexicalStatistics {
  const sum = (of: (part: LexicalStatistics) => number): number => parts.reduce((total, part) => total + of(part), 0);
  return {
    chunks: sum(({ chunks }) => chunks),
    tokens: sum(({ tokens }) => tokens),
    frequencies: Array.from({ length: terms }, (_, term) => sum(({ frequencies }) => frequencies[term] ?? 0)),
  };
}

/** What a term that occurs `count` times in a chunk of `length` tokens adds to its score. */
export type TermWeight = (count: number, length: number) => number;

/** The weight of a term of the query, by its place among them. */
export function termWeight({ chunks, tokens, frequencies }: LexicalStatistics, term: number): TermWeight {
  const frequency = frequencies[term] ?? 0;
  // Writes between the counting and the scoring may leave more occurrences than chunks counted.
  const idf = Math.log(1 + (Math.max(chunks, frequency) - frequency + 0.5) / (frequency + 0.5));
  const meanLength = Math.max(1, tokens) / Math.max(1, chunks);
  return (count, length) => (idf * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / meanLength));
}
