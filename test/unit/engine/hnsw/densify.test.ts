// Densifying the graph: when neighbour lists get edges to near nodes, and which invariants hold then and after further
// changes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { EDGES_0 } from '../../../../src/engine/memory/layout.js';
import {
  DIM,
  type Pair,
  ROWS,
  assertRecall,
  build,
  indexAll,
  inspectGraph,
  put,
  recall,
} from '../../../kit/engine/graph.js';
import { clusteredVectors } from '../../../kit/engine/arena.js';

const SLICE = 50;

function fillAll({ index }: Pair): number {
  let slices = 0;
  for (; index.isDensifyDue; slices++) index.densifySome(SLICE);
  return slices;
}

function assertWhole({ memory, index }: Pair): number {
  const { badEdges, unreachable, edges } = inspectGraph(memory, index.root);
  assert.deepEqual({ badEdges, unreachable }, { badEdges: 0, unreachable: 0 });
  return edges;
}

test('lists are densified when all rows are indexed, and again when half as many have been added', () => {
  const next = clusteredVectors(createPrng(31), DIM, 40, 0.7);
  const pair = build(next);
  const isDensifyDue = (): boolean => pair.index.isDensifyDue;
  assert.equal(fillAll(pair), Math.ceil(ROWS / SLICE), 'slices');
  pair.index.densifySome(SLICE);
  assert.equal(isDensifyDue(), false, 'nothing has changed since');
  for (let ordinal = ROWS; !isDensifyDue(); ordinal++) {
    assert(ordinal <= 1.5 * ROWS, 'a third of all is new');
    put(pair, ordinal, next());
    assert.equal(isDensifyDue(), false, 'not while a row waits for its edges');
    indexAll(pair.index);
  }
  assert.equal(pair.index.liveCount, 1.5 * ROWS + 1);
});

test('densified lists are nearly full, their edges mutual, and graph searches find more', () => {
  const next = clusteredVectors(createPrng(32), DIM, 40, 0.7);
  const pair = build(next);
  const before = {
    edges: assertWhole(pair),
    recall: recall(pair, clusteredVectors(createPrng(33), DIM, 40, 0.7), 16, 'before'),
  };
  fillAll(pair);
  const edges = assertWhole(pair);
  const share = recall(pair, clusteredVectors(createPrng(33), DIM, 40, 0.7), 16, 'filled');
  assert(edges > EDGES_0 - 4 && edges > before.edges + 4, `${before.edges} links a node, then ${edges}`);
  assert(share > before.recall, `recall@10 ${before.recall} at ef 16, then ${share}`);
});

test('the graph stays whole when rows are added, removed and put again while lists are densified', () => {
  const prng = createPrng(34);
  const next = clusteredVectors(prng, DIM, 40, 0.7);
  const pair = build(next);
  for (let i = 0; i < 4 * ROWS; i++) {
    const ordinal = prng.int(ROWS);
    if (prng.int(4) === 0 && pair.index.isLive(ordinal)) {
      pair.index.remove(ordinal);
      pair.naive.remove(ordinal);
    } else put(pair, ordinal, next());
    if (prng.int(30) === 0) indexAll(pair.index);
    pair.index.densifySome(prng.int(SLICE));
    if (i % ROWS === 0) assertWhole(pair);
  }
  indexAll(pair.index);
  fillAll(pair);
  assertWhole(pair);
  assertRecall(pair, next, 'after all that');
});
