// The naive version of the text index: a map from ordinal to tokens that counts and scores everything anew for each
// query. Scores follow the contract in src/ranking/bm25.ts, step by step in float32.
import assert from 'node:assert/strict';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import type { LexicalStatistics } from '../../../src/ranking/bm25.js';
import { bm25Of } from '../../../src/ranking/bm25.js';
import type { Bitmap } from '../../../src/engine/filter/bitmap.js';
import type { RankedTerms, TextIndex } from '../../../src/engine/postings/text-index.js';
import { createKernel } from './arena.js';

export class NaiveRanking {
  readonly chunks = new Map<number, readonly string[]>();

  statistics(terms: readonly string[]): LexicalStatistics {
    const all = [...this.chunks.values()];
    const tokens = all.reduce((sum, chunk) => sum + chunk.length, 0);
    return {
      chunks: all.length,
      tokens,
      frequencies: terms.map((term) => all.filter((chunk) => chunk.includes(term)).length),
    };
  }

  /** Every chunk that has any of the terms, best first, equal scores by ordinal. */
  rank(terms: readonly string[], statistics: LexicalStatistics): [ordinal: number, score: number][] {
    const { factors, norm, normPerToken, scale } = bm25Of(statistics);
    const { fround, trunc } = Math;
    const scored = [...this.chunks].map(([ordinal, tokens]): [number, number] => {
      const length = fround(norm + fround(normPerToken * tokens.length));
      const weights = terms.map((term, i) => {
        const count = tokens.filter((token) => token === term).length;
        return count === 0 ? 0 : trunc(fround((factors[i] as number) / fround(1 + fround(length / count)))) + 1;
      });
      return [ordinal, weights.reduce((sum, weight) => sum + weight, 0) / scale];
    });
    return scored.filter(([, score]) => score > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  /** The ordinals of the chunks whose tokens fit, ascending. */
  having(fits: (tokens: readonly string[]) => boolean): number[] {
    return [...this.chunks]
      .filter(([, tokens]) => fits(tokens))
      .map(([ordinal]) => ordinal)
      .sort((a, b) => a - b);
  }

  phrase(tokens: readonly string[], lastIsPrefix: boolean): number[] {
    const fits = (found: string | undefined, i: number): boolean =>
      found !== undefined &&
      (lastIsPrefix && i === tokens.length - 1 ? found.startsWith(tokens[i] as string) : found === tokens[i]);
    return this.having((chunk) => chunk.some((_, at) => tokens.every((_token, i) => fits(chunk[at + i], i))));
  }
}

/** A text index beside its naive version; both receive the same changes. */
export class NaiveAndIndex {
  readonly naive = new NaiveRanking();

  constructor(readonly index: TextIndex) {}

  /** Removes the chunk if it exists, and adds it otherwise. */
  toggle(ordinal: number, tokens: () => readonly string[]): void {
    const old = this.naive.chunks.get(ordinal);
    if (old) {
      this.index.remove(ordinal, old);
      this.naive.chunks.delete(ordinal);
      return;
    }
    const added = tokens();
    this.index.add(ordinal, added);
    this.naive.chunks.set(ordinal, added);
  }

  /** Does background work at random: freezes the mutable run, or takes a merge one step on. */
  disturb(prng: Prng): void {
    if (prng.int(300) === 0) this.index.freeze();
    if (prng.int(20) === 0) this.index.mergeSome(0, prng.int(10) === 0);
  }

  /** Asserts the ranking of the terms. `counts` says how often each term occurs in the query; by default once. */
  assertRanks(terms: readonly string[], k: number, label: string, allowed?: Bitmap, counts?: number[]): void {
    const counted = this.index.statistics(terms);
    assert.deepEqual(counted, this.naive.statistics(terms), `${label}: statistics`);
    const statistics = { ...counted, ...(counts && { counts }) };
    const wanted = this.naive.rank(terms, statistics).filter(([ordinal]) => !allowed || isSet(allowed, ordinal));
    assert.deepEqual(
      pairs(this.index.rank(terms, statistics, k, allowed)),
      wanted.slice(0, k),
      `${label}: ${k} best of ${terms.join(' ')}`,
    );
    const least = wanted[k - 1]?.[1] ?? 0;
    const tied = wanted.filter(([, score]) => score >= least);
    assert.deepEqual(pairs(this.index.rankWithTies(terms, statistics, k, allowed)), tied, `${label}: with ties`);
  }
}

export const pairs = ({ ordinals, scores }: RankedTerms): [number, number][] =>
  [...ordinals].map((ordinal, i) => [ordinal, scores[i] as number]);

const isSet = (bitmap: Bitmap, ordinal: number): boolean =>
  (((bitmap[ordinal >>> 5] ?? 0) >>> (ordinal & 31)) & 1) === 1;

export function ordinalsOf(bitmap: Bitmap): number[] {
  return [...bitmap].flatMap((word, i) =>
    Array.from({ length: 32 }, (_, bit) => bit)
      .filter((bit) => (word >>> bit) & 1)
      .map((bit) => 32 * i + bit),
  );
}

/** Makes words of many lengths and scripts, the first ones far more often than the last. */
export function createVocabulary(prng: Prng, size: number): () => string {
  const stems = ['a', 'ab', 'über', 'gravity', 'gravitation', 'gravitational', '東京', 'x', '\u{1f600}'];
  const words = Array.from({ length: size }, (_, i) => `${stems[i % stems.length]}${i < stems.length ? '' : i}`);
  return () => words[Math.floor(size * prng.next() ** 3)] as string;
}

type Check = (naiveOnes: NaiveAndIndex, prng: Prng, word: () => string, label: string) => void;

/** Writes at random from a small vocabulary, into few ordinals or many, and runs the check now and then. */
export function writtenAtRandom(seed: number, check: Check): void {
  const prng = createPrng(seed);
  const word = createVocabulary(prng, 80);
  const ordinals = seed % 2 === 0 ? 50 : 2000;
  const naiveOnes = new NaiveAndIndex(createKernel().createTextIndex());
  for (let step = 0; step < 3500; step++) {
    naiveOnes.toggle(prng.int(ordinals), () => Array.from({ length: prng.int(25) }, word));
    naiveOnes.disturb(prng);
    if (step % 500 === 499) check(naiveOnes, prng, word, `seed ${seed} step ${step}`);
  }
}
