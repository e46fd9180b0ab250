// BM25 as the books have it (k1 1.2, b .75), in float64, each word of a question as often as it stands there: what a
// ranking by words alone is judged beside. Used by load/long-queries.ts.
import { countedTerms } from '../../src/text/rank-terms.js';

const K1 = 1.2;
const B = 0.75;

interface Posting {
  readonly place: number;
  readonly count: number;
}

export class PlainBm25 {
  private readonly postings = new Map<string, Posting[]>();
  private readonly lengths: number[];
  private readonly meanLength: number;

  constructor(texts: readonly string[]) {
    this.lengths = texts.map((text, place) => this.add(text, place));
    this.meanLength = this.lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, texts.length);
  }

  /** Places of the k best without `itself`, best first. */
  best(question: string, k: number, itself?: number): number[] {
    const scores = new Map<number, number>();
    const { terms, counts } = termsOf(question);
    terms.forEach((term, i) => {
      const found = this.postings.get(term) ?? [];
      const idf = Math.log(1 + (this.lengths.length - found.length + 0.5) / (found.length + 0.5));
      for (const { place, count } of found)
        scores.set(place, (scores.get(place) ?? 0) + (counts[i] as number) * idf * this.weight(place, count));
    });
    return [...scores]
      .filter(([place]) => place !== itself)
      .sort((a, b) => b[1] - a[1])
      .slice(0, k)
      .map(([place]) => place);
  }

  private weight(place: number, count: number): number {
    const length = (this.lengths[place] as number) / this.meanLength;
    return (count * (K1 + 1)) / (count + K1 * (1 - B + B * length));
  }

  private add(text: string, place: number): number {
    const { terms, counts } = termsOf(text);
    terms.forEach((term, i) => {
      const known = this.postings.get(term) ?? [];
      known.push({ place, count: counts[i] as number });
      this.postings.set(term, known);
    });
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

/** Stems without stop words, of documents and questions alike. */
const termsOf = (text: string) => countedTerms(text, Infinity, 'english');
