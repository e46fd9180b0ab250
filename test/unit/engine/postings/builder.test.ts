// A text index that is built in slices and updated by writes meanwhile always agrees with the stored texts; where the
// arena has no memory for it, it is dropped rather than wrong.
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

/** The texts as a store returns them. */
function stored(texts: ReadonlyMap<number, string>): Stored<string> {
  const sorted = [...texts]
    .sort(([a], [b]) => a - b)
    .map(([ordinal, source]) => ({ ordinal: ordinal as Ordinal, source }));
  return (from) => sorted.filter(({ ordinal }) => ordinal >= from);
}

function assertLikeTexts(textIndex: SegmentTerms<string>, texts: ReadonlyMap<number, string>, what: string): void {
  const index = textIndex.complete;
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
  test(`the index agrees with the stored texts under random writes, while it is built and afterwards (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const texts = new Map(Array.from({ length: 80 }, (_, i): [number, string] => [2 * i, randomText(prng)]));
    const textIndex = new SegmentTerms(createKernel().createTextIndex(), MAKER);
    for (let step = 0; step < 600; step++) {
      const ordinal = prng.int(200) as Ordinal;
      const old = texts.get(ordinal);
      // A deadline in the past makes each call index one text.
      if (step % 3 === 0) textIndex.build(stored(texts), 0);
      if (old !== undefined) {
        textIndex.remove(ordinal, old);
        texts.delete(ordinal);
      } else {
        const text = randomText(prng);
        texts.set(ordinal, text);
        textIndex.add(ordinal, text);
      }
      textIndex.mergeSome(0);
      if (textIndex.complete && step % 20 === 0) assertLikeTexts(textIndex, texts, `seed ${seed} step ${step}`);
    }
    assertLikeTexts(textIndex, texts, `seed ${seed} end`);
  });
}

test('an index for which memory has no room is dropped, frees its memory, and reports it', () => {
  const kernel = createKernel(createMemory(48));
  const texts = new Map(
    Array.from({ length: 2000 }, (_, i): [number, string] => [
      i,
      Array.from({ length: 300 }, (_, n) => `word${i}x${n}`).join(' '),
    ]),
  );
  // The thread's scratch memory stays allocated after the first round.
  const used = [1, 2, 3].map(() => {
    const textIndex = new SegmentTerms(kernel.createTextIndex(), MAKER);
    assert.equal(textIndex.build(stored(texts), Infinity), true);
    assert.deepEqual([textIndex.isLost, textIndex.complete], [true, undefined]);
    textIndex.add(3000 as Ordinal, 'more');
    textIndex.remove(3 as Ordinal, texts.get(3) as string);
    textIndex.drop();
    assert.equal(textIndex.mergeSome(1), false);
    return kernel.usedBytes();
  });
  assert.equal(used[2], used[1]);
});
