// Terms near a word and near the beginning of one, compared with the naive distance, with the index spread over the
// mutable run, frozen runs and a merge in progress.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../../src/base/prng.js';
import type { Nearness } from '../../../../src/engine/postings/text-index.js';
import { createKernel, SEEDS } from '../../../kit/engine/arena.js';
import { edited, naiveEdits } from '../../../kit/engine/naive-edits.js';
import { writtenAtRandom, type NaiveAndIndex } from '../../../kit/engine/naive-text-index.js';

const MOST = 10_000;

function naiveNear(tokens: Iterable<string>, word: string, { edits, fixed, isPrefix }: Nearness): [string, number][] {
  const found: [string, number][] = [];
  for (const token of tokens) {
    const characters = [...token];
    const equal = [...word].slice(0, fixed);
    const ends = Array.from({ length: characters.length + 1 }, (_, end) => end).filter(
      (end) => end >= equal.length && (isPrefix || end === characters.length),
    );
    const fewest = Math.min(...ends.map((end) => naiveEdits(word, characters.slice(0, end).join(''))));
    if (fewest <= edits && equal.every((one, i) => characters[i] === one)) found.push([token, fewest]);
  }
  return found.sort();
}

function assertNear({ index, naive }: NaiveAndIndex, prng: Prng, word: () => string, label: string): void {
  const tokens = new Set([...naive.chunks.values()].flat());
  for (let i = 0; i < 6; i++) {
    const near = edited(prng, word(), prng.int(3), [...'aeglwxü東\u{1f600}']);
    const nearness = { edits: prng.int(3), fixed: prng.int(3), isPrefix: prng.int(3) === 0 };
    assert.deepEqual(
      [...index.nearTerms(near, nearness, MOST)].sort(),
      naiveNear(tokens, near, nearness),
      `${label}: ${near} ${JSON.stringify(nearness)}`,
    );
  }
}

for (const seed of SEEDS) {
  test(`random writes and words near those written (seed ${seed})`, () => {
    writtenAtRandom(seed, assertNear);
  });
}

test('many random words of few letters, before and after they are frozen', () => {
  const prng = createPrng(7);
  const word = (): string => Array.from({ length: 1 + prng.int(12) }, () => 'abcdéж'[prng.int(6)] as string).join('');
  const tokens = new Set(Array.from({ length: 3000 }, word));
  const index = createKernel().createTextIndex();
  [...tokens].forEach((token, ordinal) => index.add(ordinal, [token]));
  for (const isFrozen of [false, true]) {
    if (isFrozen) index.freeze();
    for (let i = 0; i < 150; i++) {
      const near = word();
      const nearness = { edits: prng.int(3), fixed: prng.int(2), isPrefix: prng.int(4) === 0 };
      assert.deepEqual(
        [...index.nearTerms(near, nearness, MOST)].sort(),
        naiveNear(tokens, near, nearness),
        `${near} ${JSON.stringify(nearness)}`,
      );
    }
  }
});

test('a swap of neighbours is one edit; stems and compounds are not found', () => {
  const index = createKernel().createTextIndex();
  ['whale', 'hwale', 'wahle', 'whales', '\u0002whale', '\u0001whale-boat', 'wha'].forEach((term, i) =>
    index.add(i, [term]),
  );
  const nearness = { edits: 1, fixed: 0, isPrefix: false };
  for (const isFrozen of [false, true]) {
    if (isFrozen) index.freeze();
    assert.deepEqual([...index.nearTerms('whale', nearness, 10)].sort(), [
      ['hwale', 1],
      ['wahle', 1],
      ['whale', 0],
      ['whales', 1],
    ]);
    assert.deepEqual([...index.nearTerms('whale', { ...nearness, fixed: 1 }, 10).keys()].sort(), [
      'wahle',
      'whale',
      'whales',
    ]);
    assert.deepEqual([...index.nearTerms('w'.repeat(64), nearness, 10)], []);
  }
});

test('of more terms than wanted, those of fewer edits and more chunks come first; removed ones are not found', () => {
  const index = createKernel().createTextIndex();
  const chunks = ['sea', 'seal', 'seal', 'seas', 'seam', 'seam', 'seam', 'tea'];
  chunks.forEach((term, i) => index.add(i, [term]));
  for (const isFrozen of [false, true]) {
    if (isFrozen) index.freeze();
    const near = (max: number): string[] => [
      ...index.nearTerms('sea', { edits: 1, fixed: 1, isPrefix: false }, max).keys(),
    ];
    assert.deepEqual(near(3), ['sea', 'seam', 'seal']);
    assert.deepEqual(near(10), ['sea', 'seam', 'seal', 'seas']);
    assert.deepEqual(
      [...index.nearTerms('se', { edits: 0, fixed: 2, isPrefix: true }, 2)],
      [
        ['seam', 0],
        ['seal', 0],
      ],
    );
  }
  index.remove(0, ['sea']);
  assert.deepEqual([...index.nearTerms('sea', { edits: 0, fixed: 0, isPrefix: false }, 10)], []);
});
