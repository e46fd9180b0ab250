// The cache of terms: the same records before and after eviction, a bounded size, and a pool that grows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TERM, Terms, WORD } from '../../../src/embedding/builtin/terms.js';
import { TINY } from '../../kit/embedding/builtin.js';

const BYTES_MAX = 100_000;

/**
 * The records of a text, spelled out: the pieces of each term, and the rarest piece and the count of 4-grams of each of
 * its words.
 */
function describe(terms: Terms, text: string): unknown[] {
  const described: unknown[] = [];
  terms.forEach(text, (cells, start) => {
    const wordsStart = start + TERM.lists + cells[start + TERM.pieces]!;
    const pieces = [...cells.subarray(start + TERM.lists, wordsStart)];
    const words = [...cells.subarray(wordsStart, wordsStart + cells[start + TERM.words]!)];
    described.push({ pieces, words: words.map((word) => [cells[word + WORD.rarestPiece], cells[word + WORD.grams]]) });
  });
  return described;
}

const wings = [
  { pieces: [1, 2], words: [[1, 4]] },
  { pieces: [4], words: [] },
  { pieces: [3, 4], words: [[3, 0]] },
];

test('a record has the pieces, the words, and of each word its rarest piece and 4-grams', () => {
  assert.deepEqual(describe(new Terms(TINY), 'Wings, É,'), wings);
});

test('words equal but for their case share one record', () => {
  const terms = new Terms(TINY);
  const starts = new Set<number>();
  terms.forEach('wing WING Wing', (cells, start) =>
    starts.add(cells[start + TERM.lists + cells[start + TERM.pieces]!]!),
  );
  assert.equal(starts.size, 1);
});

test('keeps to its bound after each trim, and learns again what it forgot', () => {
  const terms = new Terms(TINY, BYTES_MAX);
  let peakBytes = 0;
  for (let batch = 0; batch < 50; batch++) {
    terms.forEach(Array.from({ length: 100 }, (_, i) => `term${batch}x${i}`).join(' '), () => {});
    peakBytes = Math.max(peakBytes, terms.bytes);
    terms.trim();
    assert.ok(terms.bytes <= BYTES_MAX);
  }
  assert.ok(peakBytes > BYTES_MAX, 'the test must reach the bound');
  assert.deepEqual(describe(terms, 'Wings, É,'), wings);
});

test('a term longer than the pool is remembered whole and forgotten by the next trim', () => {
  const terms = new Terms(TINY, BYTES_MAX);
  const described = describe(terms, 'a'.repeat(200_000));
  assert.deepEqual(described, [{ pieces: [0], words: [[0, 199_999]] }]);
  terms.trim();
  assert.equal(terms.bytes, 0);
});
