// Each way of pooling on numbers that can be checked by eye, with padding that must not count; and scaling to length 1.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pooling } from '../../../../src/embedding/embedder-spec.js';
import { POOLS, writeUnit } from '../../../../src/embedding/onnx/pooling.js';

const TOKENS = Float32Array.from([1, -2, 3, -4, 5, -9, 100, 100]);

const EXPECTED: Readonly<Record<Pooling, readonly number[]>> = {
  mean: [3, -5],
  mean_sqrt_len: [9 / Math.sqrt(3), -15 / Math.sqrt(3)],
  max: [5, -2],
  cls: [1, -2],
  last_token: [5, -9],
};

for (const [pooling, expected] of Object.entries(EXPECTED) as [Pooling, readonly number[]][]) {
  test(`${pooling} of three tokens and one of padding`, () => {
    const vector = Float32Array.from([7, 7]);
    POOLS[pooling](vector, TOKENS, 3);
    assert.deepEqual(vector, Float32Array.from(expected));
  });
}

test('a vector becomes one of length 1, of its first dimensions where fewer are wanted', () => {
  const row = new Float32Array(2);
  assert.ok(writeUnit(row, Float32Array.from([3, -4, 12])));
  assert.deepEqual(row, Float32Array.from([0.6, -0.8]));
});

test('zeros stay zeros; what is no number is told', () => {
  const row = Float32Array.from([7, 7]);
  assert.ok(writeUnit(row, new Float32Array(2)));
  assert.deepEqual(row, new Float32Array(2));
  assert.equal(writeUnit(row, Float32Array.from([1, NaN])), false);
  assert.equal(writeUnit(row, Float32Array.from([1, -Infinity])), false);
});

test('very long and very short vectors do not overflow', () => {
  const row = new Float32Array(2);
  for (const length of [1e30, 1e-30]) {
    assert.ok(writeUnit(row, Float32Array.from([3 * length, 4 * length])));
    assert.ok(Math.abs(row[0]! - 0.6) < 1e-6 && Math.abs(row[1]! - 0.8) < 1e-6);
  }
});
