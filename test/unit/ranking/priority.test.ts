// The effect of a priority on a score, as the contract words it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { priorityOf, withPriority } from '../../../src/ranking/scores.js';

test('numbers and numeric strings count and are clamped; anything else is no priority', () => {
  const cases: [unknown, number][] = [
    [0.5, 0.5],
    ['0.5', 0.5],
    [7, 1],
    [-7, -1],
    ['', 0],
    ['high', 0],
    [true, 0],
    [null, 0],
    [undefined, 0],
  ];
  for (const [value, expected] of cases)
    assert.equal(priorityOf({ prio_boost: value }, 'prio_boost'), expected, String(value));
  assert.equal(priorityOf({}, 'toString'), 0);
});

test('a positive priority lifts and a negative one lowers, whatever the sign of the score', () => {
  assert.equal(withPriority(0.5, 0.5), 0.75);
  assert.equal(withPriority(-0.5, 0.5), -0.25);
  assert.equal(withPriority(-0.5, -1), -1);
});
