// The graph: recall under churn, removed rows, the queue of unindexed rows, and that the same operations give the same
// graph.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { assertRecall, build, DIM, indexAll, put, recall, ROWS } from '../../kit/engine/graph.js';
import { clusteredVectors, createKernel, SEEDS } from '../../kit/engine/arena.js';
import { assertSound } from '../../kit/engine/naive-vector-index.js';

for (const seed of SEEDS.slice(0, 2)) {
  test(`recall@10 stays above 0.95 while rows are replaced, removed and put again, seed ${seed}`, () => {
    const prng = createPrng(seed);
    const next = clusteredVectors(prng, DIM, 40, 0.7);
    const pair = build(next);
    assertRecall(pair, next, `seed ${seed}, fresh`);
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 600; i++) put(pair, prng.int(ROWS), next());
      for (const ordinal of [...pair.naive.rows.keys()].filter(() => prng.int(10) === 0)) {
        pair.index.remove(ordinal);
        pair.naive.remove(ordinal);
      }
      if (round % 2 === 0) assertRecall(pair, next, `seed ${seed}, round ${round}, unlinked`);
      indexAll(pair.index);
      assertRecall(pair, next, `seed ${seed}, round ${round}`);
    }
  });
}

test('a graph whose rows have all been replaced is as good as one built at once, even for narrow graph searches', () => {
  const prng = createPrng(10);
  const next = clusteredVectors(prng, DIM, 40, 0.7);
  const pair = build(next);
  const fresh = recall(pair, next, 16, 'fresh');
  for (let i = 0; i < 3 * ROWS; i++) {
    put(pair, prng.int(ROWS), next());
    if (i % 300 === 0) indexAll(pair.index);
  }
  indexAll(pair.index);
  const churned = recall(pair, next, 16, 'churned');
  assert(churned >= fresh - 0.01, `recall@10 ${churned} after ${fresh}`);
});

test('new rows among removed ones get edges by which they are found', () => {
  const prng = createPrng(17);
  const next = clusteredVectors(prng, DIM, 40, 0.7);
  const pair = build(next);
  for (let ordinal = ROWS; ordinal < 2 * ROWS; ordinal++) put(pair, ordinal, next());
  for (let ordinal = 0; ordinal < ROWS; ordinal++) {
    pair.index.remove(ordinal);
    pair.naive.remove(ordinal);
  }
  indexAll(pair.index);
  assertRecall(pair, next, 'linked among removed rows');
});

test('a neighbourhood of removed rows does not starve a search', () => {
  const prng = createPrng(11);
  const next = clusteredVectors(prng, DIM, 5, 0.1);
  const pair = build(next);
  const query = next();
  for (const { ordinal } of pair.naive.search(query, ROWS / 2 - 50)) {
    pair.index.remove(ordinal);
    pair.naive.remove(ordinal);
  }
  for (const k of [1, 10, 100])
    assertSound(pair.index, pair.naive, query, k, pair.index.search(query, k, { ef: k }), `k ${k}`);
  assertRecall(pair, next, 'beside removed rows');
});

test('the graph is built anew when removed rows outnumber the live ones', () => {
  const next = clusteredVectors(createPrng(12), DIM, 40, 0.7);
  const pair = build(next);
  for (let ordinal = 0; ordinal < ROWS * 0.6; ordinal++) {
    pair.index.remove(ordinal);
    pair.naive.remove(ordinal);
  }
  assert(pair.index.unindexedCount > 0);
  assertRecall(pair, next, 'scanned');
  indexAll(pair.index);
  assert.equal(pair.index.unindexedCount, 0);
  assertRecall(pair, next, 'linked again');
});

test('more rows put again than the queue holds are found at once', () => {
  const next = clusteredVectors(createPrng(13), DIM, 40, 0.7);
  const pair = build(next);
  for (let ordinal = 0; ordinal < 1500; ordinal++) put(pair, ordinal, next());
  assert(pair.index.unindexedCount <= 1024);
  for (const ordinal of [0, 1, 700, 1499]) {
    const vector = Float32Array.from(pair.naive.rows.get(ordinal)!.numbers);
    assert.equal(pair.index.search(vector, 1, { ef: 64 }).ordinals[0], ordinal);
  }
  assertRecall(pair, next, 'queue full');
});

test('an index below its graph minimum builds no graph', () => {
  const index = createKernel().createIndex(DIM, { graphMin: 100 });
  const next = clusteredVectors(createPrng(14), DIM, 4, 0.5);
  for (let ordinal = 0; ordinal < 99; ordinal++) index.put(ordinal, next());
  assert.equal(index.unindexedCount, 0);
  assert.equal(index.indexSome(10), 0);
  index.put(99, next());
  assert.equal(index.unindexedCount, 100);
  assert.equal(index.indexSome(10), 90);
});

test('the same operations give the same graph, so the same answers', () => {
  const answers = [0, 1].map(() => {
    const prng = createPrng(15);
    const next = clusteredVectors(prng, DIM, 40, 0.7);
    const { index } = build(next);
    for (let i = 0; i < 300; i++) index.put(prng.int(ROWS), next());
    indexAll(index);
    // A graph search with a small ef depends on every edge it meets.
    return Array.from({ length: 50 }, () => [...index.search(next(), 5, { ef: 5 }).ordinals]);
  });
  assert.deepEqual(answers[0], answers[1]);
});
