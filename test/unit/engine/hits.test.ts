// The details of an answer: the order of equal scores, the range of scores, row versions, duplicate vectors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { createKernel, randomVector } from '../../kit/engine/arena.js';

test('equal scores are ordered by ordinal, in a scan and in a graph search', () => {
  const index = createKernel().createIndex(2, { graphMin: 1 });
  for (const ordinal of [7, 3, 9, 1, 5]) index.put(ordinal, Float32Array.of(3, 4));
  index.put(2, Float32Array.of(-3, 4));
  const expected = [1, 3, 5, 7];
  assert.deepEqual([...index.search(Float32Array.of(6, 8), 4).ordinals], expected);
  index.indexSome(100);
  assert.deepEqual([...index.search(Float32Array.of(6, 8), 4, { ef: 10 }).ordinals], expected);
});

test('scores stay within -1 and 1, whatever the length of the vectors', () => {
  const prng = createPrng(8);
  const index = createKernel().createIndex(37, { graphMin: 1 });
  for (const scale of [1e-30, 1e-3, 1, 1e3, 1e30]) {
    const vector = randomVector(prng, 37).map((value) => value * scale);
    index.put(0, vector);
    index.put(
      1,
      vector.map((value) => -value),
    );
    const { scores } = index.search(vector, 2);
    assert(Math.abs((scores[0] as number) - 1) <= 1e-6 && (scores[0] as number) <= 1, `scale ${scale}`);
    assert(Math.abs((scores[1] as number) + 1) <= 1e-6 && (scores[1] as number) >= -1, `scale ${scale}`);
  }
});

test('a row version tells whether an ordinal still holds what a search saw', () => {
  const index = createKernel().createIndex(2);
  const vector = Float32Array.of(1, 2);
  assert.equal(index.rowVersionOf(0), 0);
  index.put(0, vector);
  const [seen] = index.search(vector, 1).rowVersions;
  assert.equal(index.rowVersionOf(0), seen);
  index.put(0, vector);
  assert.notEqual(index.rowVersionOf(0), seen);
  assert.equal((index.rowVersionOf(0) as number) & 1, 1);
  index.remove(0);
  assert.equal(index.isLive(0), false);
});

test('an empty index answers nothing', () => {
  const index = createKernel().createIndex(4);
  assert.equal(index.search(Float32Array.of(1, 2, 3, 4), 10).count, 0);
  assert.deepEqual([...index.scoresOf(Float32Array.of(1, 2, 3, 4), Uint32Array.of(0, 2 ** 31))], [NaN, NaN]);
});

test('hits do not change when the index does', () => {
  const index = createKernel().createIndex(2);
  index.put(4, Float32Array.of(1, 1));
  const hits = index.search(Float32Array.of(1, 1), 1);
  index.put(5, Float32Array.of(1, -1));
  index.search(Float32Array.of(1, -1), 1);
  assert.deepEqual([...hits.ordinals], [4]);
});
