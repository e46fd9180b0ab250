// The words of one collection's part: an inverted index in this worker's own memory, for modes boost and hybrid. Built from the
// stored texts at the first search that needs it, in slices; kept up by every write from then on; gone with the part. The naive
// structure, whose place postings in shared memory will take. Shard worker only.
import type { Ordinal } from '../../src/contract/ids.js';
import type { LexicalStatistics } from '../../src/contract/ranking.js';
import { termWeight, type TermWeight } from '../../src/rank/bm25.js';
import { BestFirst } from '../../src/rank/best-first.js';
import { tokensOf } from '../../src/text/tokenize.js';
import { PostingList } from './posting-list.js';

/** The texts of the part from an ordinal on, in the order of ordinals. */
export type StoredTexts = (from: Ordinal) => Iterable<{ ordinal: Ordinal; text: string }>;

export class LexicalIndex {
  private readonly postings = new Map<string, PostingList>();
  /** Tokens of each chunk, by ordinal. */
  private lengths = new Uint32Array(64);
  /** Scores of a query under way, by ordinal; all 0 between queries. */
  private sums = new Float64Array(64);
  /** Over all terms. */
  postingCount = 0;
  private chunks = 0;
  private tokens = 0;
  /** Chunks with a lower ordinal are in; Infinity once all are. */
  private builtTo = 0;

  get isComplete(): boolean {
    return this.builtTo === Infinity;
  }

  /** Takes in the stored texts until it is complete, which it then says, or until the time is over. */
  build(stored: StoredTexts, untilMs: number): boolean {
    if (this.isComplete) return true;
    for (const { ordinal, text } of stored(this.builtTo as Ordinal)) {
      this.insert(ordinal, text);
      this.builtTo = ordinal + 1;
      if (performance.now() >= untilMs) return false;
    }
    this.builtTo = Infinity;
    return true;
  }

  /** A chunk that has just been stored; without a text it has no words. While the index is being built, those ahead are found in the store. */
  add(ordinal: number, text: string | undefined): void {
    if (text !== undefined && ordinal < this.builtTo) this.insert(ordinal, text);
  }

  /** `text` is what was added. */
  remove(ordinal: number, text: string | undefined): void {
    if (text === undefined || ordinal >= this.builtTo) return;
    const terms = new Set(tokensOf(text));
    for (const term of terms) {
      const list = this.postings.get(term);
      list?.remove(ordinal);
      if (list?.length === 0) this.postings.delete(term);
    }
    this.postingCount -= terms.size;
    this.chunks--;
    this.tokens -= this.lengths[ordinal] as number;
  }

  statistics(terms: readonly string[]): LexicalStatistics {
    return { chunks: this.chunks, tokens: this.tokens, frequencies: terms.map((term) => this.postings.get(term)?.length ?? 0) };
  }

  /** How many of the terms a chunk has. */
  matched(ordinal: number, terms: readonly string[]): number {
    return terms.reduce((count, term) => count + (this.postings.get(term)?.has(ordinal) ? 1 : 0), 0);
  }

  /** All chunks that have any of the terms, best BM25 score first. Terms add up in their order: a score is the same in any shard. */
  rank(terms: readonly string[], statistics: LexicalStatistics): BestFirst {
    const found: number[] = [];
    terms.forEach((term, i) => {
      const list = this.postings.get(term);
      if (list) this.addUp(list, termWeight(statistics, i), found);
    });
    const scores = Float64Array.from(found, (ordinal) => this.sums[ordinal] as number);
    for (const ordinal of found) this.sums[ordinal] = 0;
    return new BestFirst(Uint32Array.from(found), scores);
  }

  private addUp(list: PostingList, weight: TermWeight, found: number[]): void {
    list.forEach((ordinal, count) => {
      const sum = this.sums[ordinal] as number;
      if (sum === 0) found.push(ordinal);
      this.sums[ordinal] = sum + weight(count, this.lengths[ordinal] as number);
    });
  }

  private insert(ordinal: number, text: string): void {
    const counts = new Map<string, number>();
    const tokens = tokensOf(text);
    for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
    for (const [term, count] of counts) {
      let list = this.postings.get(term);
      if (!list) this.postings.set(term, (list = new PostingList()));
      list.add(ordinal, count);
    }
    if (ordinal >= this.lengths.length) this.grow(ordinal + 1);
    this.lengths[ordinal] = tokens.length;
    this.postingCount += counts.size;
    this.chunks++;
    this.tokens += tokens.length;
  }

  private grow(needed: number): void {
    const lengths = new Uint32Array(Math.max(needed, this.lengths.length * 2));
    lengths.set(this.lengths);
    this.lengths = lengths;
    this.sums = new Float64Array(lengths.length);
  }
}
