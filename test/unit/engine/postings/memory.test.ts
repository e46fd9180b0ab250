// The memory of the text index: freed when the index is dropped, intact when an addition finds none left; and unusual
// terms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { type Kernel } from '../../../../src/engine/memory/arena.js';
import { ArenaFull } from '../../../../src/engine/memory/bindings.js';
import { createKernel, createMemory } from '../../../kit/engine/arena.js';
import {
  createVocabulary,
  NaiveRanking,
  ordinalsOf,
  pairs,
  NaiveAndIndex,
} from '../../../kit/engine/naive-text-index.js';

/** 3 MiB: enough for the scratch memory and some thousand chunks. */
const PAGES_FEW = 48;

/** Adds chunks until memory is full; with `merging`, runs are merged meanwhile. */
function fill(kernel: Kernel, merging: boolean): NaiveAndIndex {
  const prng = createPrng(1);
  const word = createVocabulary(prng, 5000);
  const naiveOnes = new NaiveAndIndex(kernel.createTextIndex());
  for (let ordinal = 0; ; ordinal++) {
    const tokens = Array.from({ length: 30 }, word);
    try {
      naiveOnes.index.add(ordinal, tokens);
    } catch (error) {
      assert(error instanceof ArenaFull);
      return naiveOnes;
    }
    naiveOnes.naive.chunks.set(ordinal, tokens);
    if (merging) naiveOnes.index.mergeSome(0, ordinal % 2 === 0);
  }
}

test('a dropped index gives all its memory back, also in the middle of a merge', () => {
  const kernel = createKernel();
  const prng = createPrng(2);
  const word = createVocabulary(prng, 500);
  let published = 0;
  for (let round = 0; round < 4; round++) {
    const naiveOnes = new NaiveAndIndex(kernel.createTextIndex());
    for (let step = 0; step < 4000; step++) {
      naiveOnes.toggle(prng.int(1500), () => Array.from({ length: 20 }, word));
      naiveOnes.disturb(prng);
    }
    for (let i = 0; i < 4; i++) {
      naiveOnes.toggle(2000 + i, () => ['end']);
      naiveOnes.index.freeze();
    }
    if (round % 2 === 0) naiveOnes.index.mergeSome(0, true);
    naiveOnes.index.phrase(['a', 'ab']);
    naiveOnes.index.drop();
    if (round === 0) published = kernel.usedBytes();
    // The scratch memory may grow again; an index that was not freed would take hundreds of kilobytes.
    assert(
      kernel.usedBytes() <= published + 65_536,
      `${kernel.usedBytes() - published} bytes stay after round ${round}`,
    );
  }
});

for (const merging of [false, true]) {
  test(`a full memory says so, and keeps and finds all it has${merging ? ', while merging' : ''}`, () => {
    const naiveOnes = fill(createKernel(createMemory(PAGES_FEW)), merging);
    assert(naiveOnes.naive.chunks.size > 1000, `${naiveOnes.naive.chunks.size} chunks`);
    for (let i = 0; i < 3; i++) {
      assert.equal(naiveOnes.index.chunks, naiveOnes.naive.chunks.size);
      naiveOnes.assertRanks(['a', 'ab', 'gravity777'], 10, 'full');
      assert.throws(() => naiveOnes.index.add(1e6, ['one', 'more']), ArenaFull);
      naiveOnes.index.mergeSome(1, true);
    }
    for (let ordinal = 0; ordinal < 500; ordinal++) naiveOnes.toggle(ordinal, () => []);
    naiveOnes.assertRanks(['a', 'ab', 'gravity777'], 10, 'after removals');
  });
}

test('merging removes dead postings', () => {
  const index = createKernel().createTextIndex();
  const word = createVocabulary(createPrng(3), 500);
  const chunks = Array.from({ length: 3000 }, () => Array.from({ length: 30 }, word));
  chunks.forEach((tokens, ordinal) => index.add(ordinal, tokens));
  index.freeze();
  const before = index.bytes();
  for (let ordinal = 0; ordinal < 2700; ordinal++) index.remove(ordinal, chunks[ordinal] as string[]);
  while (index.mergeSome(1));
  const after = index.bytes();
  assert(
    after.postings < before.postings / 5 && after.positions < before.positions / 5,
    `${JSON.stringify(before)} to ${JSON.stringify(after)}`,
  );
  for (let ordinal = 2700; ordinal < 3000; ordinal++) index.remove(ordinal, chunks[ordinal] as string[]);
  while (index.mergeSome(1));
  assert.deepEqual(
    { ...index.bytes(), lengths: 0 },
    { lengths: 0, mutable: 0, terms: 0, blocks: 0, postings: 0, positions: 0, live: 0 },
  );
});

test('terms of any form: empty, of one byte, equal in their first eight or hundred bytes, enormous, of any script', () => {
  const long = 'x'.repeat(100_000);
  const tokens = [
    '',
    'a',
    'abcdefg',
    'abcdefgh',
    'abcdefghi',
    'abcdefghij',
    long,
    `${long}y`,
    '東京都庁',
    'é',
    'e\u0301',
    '\u{10ffff}',
    'ﬀ',
    '\u0001',
    '\u007f',
  ];
  const naiveOnes = new NaiveAndIndex(createKernel().createTextIndex());
  tokens.forEach((token, ordinal) => naiveOnes.toggle(ordinal, () => [token, 'common', token]));
  for (let round = 0; round < 3; round++) {
    for (const token of tokens) {
      naiveOnes.assertRanks([token, 'common'], 20, `round ${round}, a token of ${token.length}`);
      assert.deepEqual(
        ordinalsOf(naiveOnes.index.phrase([token, 'common', token])),
        naiveOnes.naive.phrase([token, 'common', token], false),
      );
      assert.deepEqual(
        ordinalsOf(naiveOnes.index.phrase(['common', token], true)),
        naiveOnes.naive.phrase(['common', token], true),
      );
    }
    if (round === 0) naiveOnes.index.freeze();
    else naiveOnes.toggle(round, () => []);
    while (naiveOnes.index.mergeSome(1));
  }
});

test('the naive version ranks by BM25', () => {
  const naive = new NaiveRanking();
  naive.chunks.set(0, ['a', 'b']).set(1, ['a', 'a', 'c']).set(2, ['c', 'c', 'c', 'c']);
  const [best, next] = naive.rank(['a'], naive.statistics(['a']));
  const weight = (count: number, length: number): number =>
    (Math.log(1 + 1.5 / 2.5) * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / 3));
  assert.deepEqual([best?.[0], next?.[0]], [1, 0]);
  assert(
    Math.abs((best?.[1] as number) - weight(2, 3)) < 1e-6 && Math.abs((next?.[1] as number) - weight(1, 2)) < 1e-6,
  );
  const index = createKernel().createTextIndex();
  naive.chunks.forEach((tokens, ordinal) => index.add(ordinal, tokens));
  assert.deepEqual(pairs(index.rank(['a'], index.statistics(['a']), 9)), naive.rank(['a'], naive.statistics(['a'])));
});
