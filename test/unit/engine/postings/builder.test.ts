// An index of words while it is being built in slices and kept up by writes: always that of the stored texts; and lost,
// not wrong, where memory has no room for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../../src/base/prng.js';
import type { Ordinal } from '../../../../src/api/ids.js';
import { chunkTerms } from '../../../../src/text/terms.js';
import { SegmentTerms, type Stored } from '../../../../src/engine/postings/builder.js';
import { makerOf } from '../../../../src/engine/segments/indexes.js';
import { createKernel, createMemory } from '../../../kit/engine/arena.js';

const WORDS = ['alpha', 'beta', 'gamma', 'delta', 'épée', '東京', 'zeta'];
const MAKER = makerOf('none');

const randomText = (prng: Prng): string =>
  Array.from({ length: prng.int(9) }, () => WORDS[prng.int(WORDS.length)]).join(' ');

/** The texts as a store hands them out. */
function stored(texts: ReadonlyMap<number, string>): Stored<string> {
  const sorted = [...texts]
    .sort(([a], [b]) => a - b)
    .map(([ordinal, source]) => ({ ordinal: ordinal as Ordinal, source }));
  return (from) => sorted.filter(({ ordinal }) => ordinal >= from);
}

function assertLikeTexts(words: SegmentTerms<string>, texts: ReadonlyMap<number, string>, what: string): void {
  const index = words.complete;
  assert.ok(index, what);
  const terms = ['beta', 'epee', 'none', '東', 'alpha'];
  const all = [...texts].map(([ordinal, text]) => ({ ordinal, terms: chunkTerms(text, 'none') }));
  const frequencies = terms.map((term) => all.filter((chunk) => chunk.terms.includes(term)).length);
  assert.deepEqual(
    index.statistics(terms),
    { chunks: all.length, tokens: all.flatMap((chunk) => chunk.terms).length, frequencies },
    what,
  );
  const ordinals = Uint32Array.from(all, ({ ordinal }) => ordinal);
  assert.deepEqual(
    [...index.matched(ordinals, terms)],
    all.map((chunk) => terms.filter((term) => chunk.terms.includes(term)).length),
    what,
  );
}

for (const seed of [1, 2, 3]) {
  test(`random writes, while it is built and after (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const texts = new Map(Array.from({ length: 80 }, (_, i): [number, string] => [2 * i, randomText(prng)]));
    const words = new SegmentTerms(createKernel().createWords(), MAKER);
    for (let step = 0; step < 600; step++) {
      const ordinal = prng.int(200) as Ordinal;
      const old = texts.get(ordinal);
      // A time that is over lets each call take in one text.
      if (step % 3 === 0) words.build(stored(texts), 0);
      if (old !== undefined) {
        words.remove(ordinal, old);
        texts.delete(ordinal);
      } else {
        const text = randomText(prng);
        texts.set(ordinal, text);
        words.add(ordinal, text);
      }
      words.mergeSome(0);
      if (words.complete && step % 20 === 0) assertLikeTexts(words, texts, `seed ${seed} step ${step}`);
    }
    assertLikeTexts(words, texts, `seed ${seed} end`);
  });
}

test('without room it is lost, gives its memory back, and says so', () => {
  const kernel = createKernel(createMemory(48));
  const texts = new Map(
    Array.from({ length: 2000 }, (_, i): [number, string] => [
      i,
      Array.from({ length: 300 }, (_, n) => `word${i}x${n}`).join(' '),
    ]),
  );
  // The scratch of the thread is kept: it is there after the first round.
  const used = [1, 2, 3].map(() => {
    const words = new SegmentTerms(kernel.createWords(), MAKER);
    assert.equal(words.build(stored(texts), Infinity), true);
    assert.deepEqual([words.isLost, words.complete], [true, undefined]);
    words.add(3000 as Ordinal, 'more');
    words.remove(3 as Ordinal, texts.get(3) as string);
    words.drop();
    assert.equal(words.mergeSome(1), false);
    return kernel.usedBytes();
  });
  assert.equal(used[2], used[1]);
});
