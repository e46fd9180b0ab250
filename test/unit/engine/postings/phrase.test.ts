// Phrases, prefixes and parts of words, compared with the naive version, with the index spread over the mutable run,
// frozen runs and a merge in progress.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Prng } from '../../../../src/base/prng.js';
import { createKernel, SEEDS } from '../../../kit/engine/arena.js';
import { ordinalsOf, writtenAtRandom, type NaiveAndIndex } from '../../../kit/engine/naive-text-index.js';

/** Some consecutive tokens of a chunk; with `lastIsPrefix`, the last one is cut short. */
function drawPhrase(prng: Prng, chunks: readonly (readonly string[])[], lastIsPrefix: boolean): string[] {
  const chunk = chunks[prng.int(chunks.length)] as readonly string[];
  const from = prng.int(Math.max(1, chunk.length));
  const phrase = chunk.slice(from, from + 1 + prng.int(4));
  if (phrase.length === 0) return ['none'];
  if (!lastIsPrefix) return phrase;
  const last = [...(phrase.at(-1) as string)];
  return [...phrase.slice(0, -1), last.slice(0, 1 + prng.int(last.length)).join('')];
}

function assertPhrases({ index, naive }: NaiveAndIndex, prng: Prng, label: string): void {
  const chunks = [...naive.chunks.values()];
  for (let i = 0; i < 12; i++) {
    const lastIsPrefix = i % 2 === 1;
    const phrase = drawPhrase(prng, chunks, lastIsPrefix);
    assert.deepEqual(
      ordinalsOf(index.phrase(phrase, lastIsPrefix)),
      naive.phrase(phrase, lastIsPrefix),
      `${label}: ${phrase.join(' ')}`,
    );
  }
}

function assertSegments({ index, naive }: NaiveAndIndex, piece: string, label: string): void {
  assert.deepEqual(
    ordinalsOf(index.containing(piece)),
    naive.having((tokens) => tokens.some((token) => token.includes(piece))),
    `${label}: has ${piece}`,
  );
  assert.deepEqual(
    ordinalsOf(index.containing(piece, true)),
    naive.having((tokens) => tokens.some((token) => token.endsWith(piece))),
    `${label}: ends with ${piece}`,
  );
  const terms = new Set([...naive.chunks.values()].flat().filter((token) => token.startsWith(piece)));
  const inOrder = [...terms]
    .map((term) => Buffer.from(term))
    .sort(Buffer.compare)
    .map(String);
  for (const max of [3, 1000])
    assert.deepEqual(index.prefixTerms(piece, max), inOrder.slice(0, max), `${label}: begins with ${piece}`);
}

for (const seed of SEEDS) {
  test(`random writes and phrases (seed ${seed})`, () => {
    writtenAtRandom(seed, (naiveOnes, prng, _, label) => {
      assertPhrases(naiveOnes, prng, label);
      for (const piece of ['ab', 'gravitation', 'tational', '京', '7', '\u{1f600}', 'nowhere'])
        assertSegments(naiveOnes, piece, label);
    });
  });
}

test('a phrase is found at the very end of a chunk and does not reach into the next', () => {
  const index = createKernel().createTextIndex();
  index.add(0, ['one', 'two']);
  index.add(1, ['three', 'one']);
  for (const isFrozen of [false, true]) {
    if (isFrozen) index.freeze();
    assert.deepEqual(ordinalsOf(index.phrase(['one', 'two'])), [0]);
    assert.deepEqual(ordinalsOf(index.phrase(['two', 'three'])), []);
    assert.deepEqual(ordinalsOf(index.phrase(['three', 'on'], true)), [1]);
    assert.deepEqual(ordinalsOf(index.phrase(['one', ''], true)), [0]);
  }
});

test('a term with more positions than fit into the buffer is searched in several rounds', () => {
  const index = createKernel().createTextIndex();
  const many = Array.from({ length: 30_000 }, () => 'a');
  for (let ordinal = 0; ordinal < 12; ordinal++)
    index.add(ordinal, ordinal === 11 ? [...many, 'b', 'b'] : [...many, 'b', 'c', ...many.slice(1), 'b']);
  index.freeze();
  while (index.mergeSome(1, true));
  assert.deepEqual(
    ordinalsOf(index.phrase(['a', 'a', 'a'])),
    Array.from({ length: 12 }, (_, i) => i),
  );
  assert.deepEqual(ordinalsOf(index.phrase(['a', 'b', 'b'])), [11]);
});
