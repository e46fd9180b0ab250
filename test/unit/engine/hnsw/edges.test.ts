// The edges of the graph in memory: they are mutual and reach every node, whatever duplicate vectors there are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { DIM, ROWS, assertRecall, build, createPair, indexAll, inspectGraph, put } from '../../../kit/engine/graph.js';
import { clusteredVectors, randomVector } from '../../../kit/engine/arena.js';
import { assertSound } from '../../../kit/engine/naive-vector-index.js';

for (const spread of [1e-4, 1e-3, 0.01, 0.7]) {
  test(`edges are mutual and lead to every node, whatever is written, around centres at a distance of ${spread}`, () => {
    const prng = createPrng(19);
    const next = clusteredVectors(prng, DIM, 5, spread);
    const pair = build(next);
    for (let i = 0; i < 3 * ROWS; i++) {
      const ordinal = prng.int(ROWS);
      if (prng.int(4) === 0 && pair.index.isLive(ordinal)) pair.index.remove(ordinal);
      else pair.index.put(ordinal, next());
      if (i % 100 === 0 && pair.index.indexSome(prng.int(200)) === 0) pair.index.densifySome(prng.int(2000));
    }
    indexAll(pair.index);
    const { nodes, duplicates, badEdges, unreachable } = inspectGraph(pair.memory, pair.index.root);
    assert(nodes + duplicates >= pair.index.liveCount);
    assert.deepEqual({ badEdges, unreachable }, { badEdges: 0, unreachable: 0 });
  });
}

/** Fills half of the rows with `duplicate`, and asserts that searches find both these and the others. */
function checkDuplicates(duplicate: () => Float32Array, seed: number): void {
  const prng = createPrng(seed);
  const next = clusteredVectors(prng, DIM, 40, 0.7);
  const pair = createPair();
  for (let ordinal = 0; ordinal < ROWS; ordinal++) put(pair, ordinal, prng.int(2) === 0 ? duplicate() : next());
  for (const round of ['fresh', 'churned']) {
    indexAll(pair.index);
    for (const k of [1, 10, 100]) {
      const hits = pair.index.search(duplicate(), k, { ef: 128 });
      assertSound(pair.index, pair.naive, duplicate(), k, hits, round);
      assert((hits.scores[k - 1] as number) > 0.99999, `${round}: ${k} copies`);
    }
    assertRecall(pair, next, round);
    for (let i = 0; i < ROWS; i++) put(pair, prng.int(ROWS), prng.int(2) === 0 ? duplicate() : next());
  }
}

test('duplicates of one vector in thousands of rows hide neither themselves nor others', () => {
  const duplicate = randomVector(createPrng(16), DIM);
  checkDuplicates(() => duplicate, 16);
});

test('rows that differ only by rounding do not hide each other', () => {
  const prng = createPrng(19);
  const duplicate = randomVector(prng, DIM);
  checkDuplicates(() => duplicate.map((value) => value * (1 + 1e-6 * prng.next())), 19);
});
