// The text index, compared with its naive version: statistics, ranking, ties and matches under random adds, removals,
// freezes and merges.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../../src/base/prng.js';
import { createKernel, SEEDS } from '../../../kit/engine/arena.js';
import { createVocabulary, NaiveAndIndex } from '../../../kit/engine/naive-text-index.js';

const distinct = (word: () => string, count: number): string[] => [...new Set(Array.from({ length: count }, word))];

function assertMatches({ index, naive }: NaiveAndIndex, terms: string[], ordinals: Uint32Array, label: string): void {
  const wanted = [...ordinals].map(
    (ordinal) => terms.filter((term) => naive.chunks.get(ordinal)?.includes(term)).length,
  );
  assert.deepEqual([...index.matched(ordinals, terms)], wanted, `${label}: matched`);
}

function compare(naiveOnes: NaiveAndIndex, prng: Prng, word: () => string, ordinals: number, label: string): void {
  const allowed = new Uint32Array(Math.ceil(ordinals / 32)).map(() => prng.int(2 ** 32) & prng.int(2 ** 32));
  for (const filter of [undefined, allowed])
    naiveOnes.assertRanks(distinct(word, 1 + prng.int(9)), 1 + prng.int(30), label, filter);
  assertMatches(
    naiveOnes,
    distinct(word, 4),
    Uint32Array.from({ length: 9 }, () => prng.int(ordinals)),
    label,
  );
}

for (const seed of SEEDS) {
  // With few ordinals each is reused often; with many, runs have several blocks, some of them bitmaps.
  const ordinals = seed % 2 === 0 ? 60 : 6000;
  test(`random writes in ${ordinals} ordinals (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const word = createVocabulary(prng, 300);
    const naiveOnes = new NaiveAndIndex(createKernel().createTextIndex());
    for (let step = 0; step < 9000; step++) {
      naiveOnes.toggle(prng.int(ordinals), () => Array.from({ length: prng.int(30) }, word));
      naiveOnes.disturb(prng);
      if (step % 1500 === 1499) compare(naiveOnes, prng, word, ordinals, `seed ${seed} step ${step}`);
    }
    while (naiveOnes.index.mergeSome(1, true));
    compare(naiveOnes, prng, word, ordinals, `seed ${seed} merged`);
  });
}

test('a removal while its run is being merged is counted once, wherever the merge stands', () => {
  const prng = createPrng(5);
  const word = createVocabulary(prng, 3000);
  const naiveOnes = new NaiveAndIndex(createKernel().createTextIndex());
  for (let ordinal = 0; ordinal < 3000; ordinal++) {
    naiveOnes.toggle(ordinal, () => Array.from({ length: 40 }, word));
    if (ordinal % 700 === 699) naiveOnes.index.freeze();
  }
  for (let isMore = true; isMore; ) {
    isMore = naiveOnes.index.mergeSome(0, true);
    for (let i = 0; i < 10; i++) naiveOnes.toggle(prng.int(3000), () => [word()]);
    const terms = distinct(word, 20);
    assert.deepEqual(naiveOnes.index.statistics(terms), naiveOnes.naive.statistics(terms));
  }
  naiveOnes.assertRanks(distinct(word, 5), 20, 'merged');
});

test('a removal between the two postings of a reused ordinal in a merge is counted once', () => {
  const same = (): readonly string[] => ['same'];
  // Words that come before move the posting at which a step of the merge ends.
  for (let words = 0; words < 12; words++) {
    const naiveOnes = new NaiveAndIndex(createKernel().createTextIndex());
    const toggleAll = (): void => {
      for (let ordinal = 0; ordinal < 1000; ordinal++) naiveOnes.toggle(ordinal, same);
    };
    toggleAll();
    naiveOnes.toggle(1000, () => Array.from({ length: words + 1 }, (_, i) => `a${i}`));
    naiveOnes.index.freeze();
    toggleAll();
    toggleAll();
    naiveOnes.index.freeze();
    naiveOnes.index.mergeSome(0, true);
    toggleAll();
    while (naiveOnes.index.mergeSome(1, true));
    assert.deepEqual(naiveOnes.index.statistics(same()), naiveOnes.naive.statistics(same()), `${words} words before`);
  }
});

/** The distinct terms of `count` random words, and how often each occurs. */
function countedWords(word: () => string, count: number): { terms: string[]; counts: number[] } {
  const counts = new Map<string, number>();
  for (let i = 0; i < count; i++) {
    const drawn = word();
    counts.set(drawn, (counts.get(drawn) ?? 0) + 1);
  }
  return { terms: [...counts.keys()], counts: [...counts.values()] };
}

for (const seed of SEEDS) {
  test(`queries of 60 words and more, some of them repeated (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const word = createVocabulary(prng, 2000);
    const naiveOnes = new NaiveAndIndex(createKernel().createTextIndex());
    for (let step = 0; step < 5000; step++) {
      naiveOnes.toggle(prng.int(4500), () => Array.from({ length: 1 + prng.int(60) }, word));
      if (step % 1100 === 1099) naiveOnes.index.freeze();
    }
    const some = new Uint32Array(Math.ceil(4500 / 32)).map(() => prng.int(2 ** 32) & prng.int(2 ** 32));
    for (const [words, k, allowed] of [
      [60, 1, undefined],
      [60, 10, undefined],
      [60, 10, some],
      [62, 50, undefined],
      [250, 10, some],
    ] as const) {
      const { terms, counts } = countedWords(word, words);
      naiveOnes.assertRanks(terms, k, `seed ${seed}, ${words} words`, allowed, counts);
    }
  });
}

test('an index without chunks, and queries without terms, have no hits', () => {
  const index = createKernel().createTextIndex();
  const none = { chunks: 0, tokens: 0, frequencies: [0] };
  assert.deepEqual(index.statistics(['a']), none);
  assert.equal(index.rank(['a'], none, 3).count, 0);
  index.add(3, []);
  assert.deepEqual(index.statistics([]), { chunks: 1, tokens: 0, frequencies: [] });
  assert.equal(index.rank([], index.statistics([]), 3).count, 0);
  index.remove(3, []);
  assert.equal(index.chunks, 0);
});

test('a chunk scores the same in any of several shards, given the statistics of all', () => {
  const prng = createPrng(6);
  const word = createVocabulary(prng, 100);
  const chunks = Array.from({ length: 900 }, () => Array.from({ length: 1 + prng.int(40) }, word));
  const whole = createKernel().createTextIndex();
  const shards = [0, 1, 2].map(() => createKernel().createTextIndex());
  chunks.forEach((tokens, i) => [whole, shards[i % 3]!].forEach((index) => index.add(i, tokens)));
  for (let i = 0; i < 20; i++) {
    const terms = distinct(word, 1 + prng.int(6));
    const statistics = whole.statistics(terms);
    const { ordinals, scores } = whole.rank(terms, statistics, 900);
    const apart = new Map(
      shards.flatMap((shard) => {
        const part = shard.rank(terms, statistics, 900);
        return [...part.ordinals].map((ordinal, at): [number, number] => [ordinal, part.scores[at] as number]);
      }),
    );
    assert.equal(apart.size, ordinals.length);
    ordinals.forEach((ordinal, at) => assert.equal(apart.get(ordinal), scores[at]));
  }
});
