// The estimated relevance is between 0 and 1, grows with the score, and does not depend on the range in which a model's
// cosines lie.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearnessOf, relevanceOf } from '../../../src/ranking/scores.js';

const STEPS = Array.from({ length: 41 }, (_, i) => -1 + i / 20);

test('it grows with either number, and stays between 0 and 1', () => {
  for (const other of [undefined, 0, 0.4, 1]) {
    const byNearness = STEPS.map((step) => relevanceOf(step, other) as number);
    const byCoverage = STEPS.filter((step) => step >= 0).map((step) => relevanceOf(other, step) as number);
    for (const rising of [byNearness, byCoverage]) {
      rising.forEach((value, i) => assert.ok(value >= 0 && value <= 1 && value >= (rising[i - 1] ?? 0)));
      assert.ok((rising.at(-1) as number) > (rising[0] as number));
    }
  }
});

test('there is no estimate where nothing is known', () => assert.equal(relevanceOf(undefined, undefined), undefined));

test('cosines that a model crowds together near 1 are as far apart as others', () => {
  for (const cosine of [0.1, 0.5, 0.9])
    assert.ok(Math.abs(nearnessOf(cosine, 0.1) - nearnessOf(0.7 + 0.3 * cosine, 0.7 + 0.3 * 0.1)) < 1e-12);
});

test('a collection of copies of one chunk does not divide by zero', () => assert.equal(nearnessOf(1, 1), 0));
