// The index of words against a naive twin that tokenizes every text anew, through random writes, and while it is being built.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import type { Ordinal } from '../../../src/contract/ids.js';
import { tokensOf } from '../../../src/text/tokenize.js';
import { makeRoom } from '../../../workers/shard/count-terms.js';
import { LexicalIndex, type StoredTexts } from '../../../workers/shard/lexical-index.js';

const WORDS = ['alpha', 'beta', 'gamma', 'delta', 'épée', '東京', 'zeta'];

const randomText = (prng: Prng): string => Array.from({ length: prng.int(9) }, () => WORDS[prng.int(WORDS.length)]).join(' ');

/** The texts as a store hands them out. */
function stored(texts: ReadonlyMap<number, string>): StoredTexts {
  const sorted = [...texts].sort(([a], [b]) => a - b).map(([ordinal, text]) => ({ ordinal: ordinal as Ordinal, text }));
  return (from) => sorted.filter(({ ordinal }) => ordinal >= from);
}

function naiveRanking(texts: ReadonlyMap<number, string>, terms: string[]): [number, number][] {
  const all = [...texts].map(([ordinal, text]) => ({ ordinal, tokens: tokensOf(text) }));
  const mean = all.reduce((sum, { tokens }) => sum + tokens.length, 0) / all.length;
  const scored = all.map(({ ordinal, tokens }): [number, number] => {
    const parts = terms.map((term) => {
      const frequency = all.filter((other) => other.tokens.includes(term)).length;
      const count = tokens.filter((token) => token === term).length;
      return (Math.log(1 + (all.length - frequency + 0.5) / (frequency + 0.5)) * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * tokens.length) / mean));
    });
    return [ordinal, parts.reduce((sum, part) => sum + part, 0)];
  });
  return scored.filter(([, score]) => score > 0).sort((a, b) => b[1] - a[1]);
}

function assertLikeTwin(index: LexicalIndex, texts: ReadonlyMap<number, string>, terms: string[], what: string): void {
  const tokens = [...texts.values()].map(tokensOf);
  const frequencies = terms.map((term) => tokens.filter((of) => of.includes(term)).length);
  const statistics = index.statistics(terms);
  assert.deepEqual(statistics, { chunks: texts.size, tokens: tokens.flat().length, frequencies }, what);
  const ranked = index.rank(terms, statistics);
  const scores = new Map<number, number>();
  for (let score = ranked.peekScore(); score !== undefined; score = ranked.peekScore()) scores.set(ranked.pop(), score);
  const expected = naiveRanking(texts, terms);
  assert.deepEqual([...scores.keys()].sort(), expected.map(([ordinal]) => ordinal).sort(), what);
  for (const [ordinal, score] of expected) assert.ok(Math.abs((scores.get(ordinal) as number) - score) < 1e-9, what);
  for (const [ordinal, text] of texts) assert.equal(index.matched(ordinal, terms), terms.filter((term) => tokensOf(text).includes(term)).length, what);
}

for (const seed of [1, 2, 3]) {
  test(`random writes, while it is built and after (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const texts = new Map(Array.from({ length: 80 }, (_, i): [number, string] => [2 * i, randomText(prng)]));
    const index = new LexicalIndex();
    for (let step = 0; step < 600; step++) {
      const ordinal = prng.int(200);
      const old = texts.get(ordinal);
      // A time that is over lets each call take in one text.
      if (step % 3 === 0) index.build(stored(texts), 0);
      if (old !== undefined) {
        index.remove(ordinal, old);
        texts.delete(ordinal);
      } else {
        const text = randomText(prng);
        texts.set(ordinal, text);
        index.add(ordinal, text);
      }
      if (index.isComplete && step % 20 === 0) assertLikeTwin(index, texts, ['beta', 'epee', 'none', '東', 'alpha'], `seed ${seed} step ${step}`);
    }
    assert.equal(index.isComplete, true);
    assertLikeTwin(index, texts, ['gamma'], `seed ${seed} end`);
  });
}

test('what has no text has no words', () => {
  const index = new LexicalIndex();
  assert.equal(index.build(stored(new Map()), Infinity), true);
  index.add(7, undefined);
  index.remove(7, undefined);
  assert.deepEqual(index.statistics(['a']), { chunks: 0, tokens: 0, frequencies: [0] });
});

test('over the bound the complete indexes of other collections are dropped', () => {
  const indexOf = (text: string, untilMs: number): { lexical: LexicalIndex | undefined } => {
    const lexical = new LexicalIndex();
    lexical.build(stored(new Map([[0, text], [1, text]])), untilMs);
    return { lexical };
  };
  const [complete, building, wanted] = [indexOf('one two two', Infinity), indexOf('one', 0), indexOf('three', Infinity)];
  assert.equal(complete.lexical?.postingCount, 4);
  makeRoom([complete, building, wanted], wanted, 5);
  assert.ok(complete.lexical);
  makeRoom([complete, building, wanted], wanted, 4);
  assert.deepEqual([complete.lexical, building.lexical === undefined, wanted.lexical === undefined], [undefined, false, false]);
});
