// Measures of rankings by judgements, against values worked out by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bootstrapInterval, meanOf, ndcgOf, recallOf, reciprocalRankOf } from '../../../src/ranking/evaluation.js';
import { createPrng } from '../../../src/base/prng.js';

const grades = new Map([
  ['a', 3],
  ['b', 1],
  ['c', 0],
]);

test('nDCG discounts by rank and compares with the best ranking', () => {
  const ideal = 3 + 1 / Math.log2(3);
  assert.equal(ndcgOf(['a', 'b'], grades), 1);
  assert.equal(ndcgOf(['x', 'a', 'b'], grades), (3 / Math.log2(3) + 1 / 2) / ideal);
  assert.equal(ndcgOf([...Array(10).keys()].map(String).concat('a'), grades), 0);
  assert.equal(ndcgOf(['a'], new Map([['a', 0]])), 0);
});

test('recall and reciprocal rank count relevant documents alone', () => {
  assert.deepEqual([recallOf(['c', 'b'], grades), recallOf([], grades), recallOf(['c'], new Map())], [0.5, 0, 0]);
  assert.deepEqual([reciprocalRankOf(['c', 'x', 'b'], grades), reciprocalRankOf(['c'], grades)], [1 / 3, 0]);
});

test('a bootstrap interval holds the mean, repeats with its seed, and narrows with more values', () => {
  const prng = createPrng(7);
  const many = Array.from({ length: 400 }, () => prng.normal());
  const [low, high] = bootstrapInterval(many, 3);
  assert.ok(low < meanOf(many) && meanOf(many) < high);
  // The standard error of 400 normal values is .05, so the interval is about .196 wide.
  assert.ok(high - low > 0.15 && high - low < 0.25, String(high - low));
  assert.deepEqual(bootstrapInterval(many, 3), [low, high]);
  assert.deepEqual(bootstrapInterval([2, 2, 2], 1), [2, 2]);
  assert.deepEqual(bootstrapInterval([], 1), [0, 0]);
});
