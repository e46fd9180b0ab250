// The kernel's own way to split plain text gives the tokens of chunkTerms, and in their order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../../src/base/prng.js';
import { chunkTerms } from '../../../../src/text/rank-terms.js';
import { createKernel, SEEDS } from '../kernel-kit.js';
import { Twins } from './naive-words.js';

const CHARACTERS = [...'aAbZz0949 ,;-_.\u0000\n@[`{/:~\u007f'];

function randomText(prng: Prng): string {
  const text = Array.from({ length: prng.int(14) }, () => CHARACTERS[prng.int(CHARACTERS.length)] as string).join('');
  return prng.int(8) === 0 ? `${text}é東京` : text;
}

for (const seed of SEEDS) {
  test(`random texts (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const { index, naive } = new Twins(createKernel().createWords());
    for (let ordinal = 0; ordinal < 2000; ordinal++) {
      const text = randomText(prng);
      index.addText(ordinal, text);
      naive.chunks.set(ordinal, chunkTerms(text, 'none'));
    }
    const all = [...new Set([...naive.chunks.values()].flat())];
    const { chunks, tokens } = naive.statistics([]);
    assert.deepEqual([index.chunks, index.tokens], [chunks, tokens]);
    const frequencies = new Map<string, number>();
    for (const terms of naive.chunks.values()) for (const term of new Set(terms)) frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
    assert.deepEqual(index.statistics(all).frequencies, all.map((term) => frequencies.get(term)));
    // A removal counts the chunk's distinct terms, and a phrase their order.
    for (const [ordinal, terms] of naive.chunks) {
      if (terms.length > 0) assert.equal(((index.phrase(terms)[ordinal >>> 5] as number) >>> (ordinal & 31)) & 1, 1, `seed ${seed}: ${JSON.stringify(terms)}`);
      index.remove(ordinal, terms);
    }
    assert.deepEqual([index.chunks, index.tokens], [0, 0]);
  });
}
