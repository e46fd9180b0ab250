// The blocks that hold rows, compared with a list of blocks that is built one by one; and an index that outgrows its
// small block table, compared with the naive version: beside a reader, with priorities, and in a memory that runs out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { Ordinal } from '../../../src/api/ids.js';
import { ArenaFull } from '../../../src/engine/memory/bindings.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import {
  EDGES_0,
  FINE_PLACE,
  FIRST_ROWS,
  ORDINALS_MAX,
  SMALL_TABLE_BYTES,
  TABLE_BYTES,
} from '../../../src/engine/memory/layout.js';
import { blockRows, placeOf } from '../../../src/engine/hnsw/vector-index.js';
import { ordinalsIn } from '../../../src/engine/filter/bitmap.js';
import { inspectGraph, levelOf } from '../../kit/engine/graph.js';
import { createKernel, createMemory, randomVector, readKernelBytes, SEEDS } from '../../kit/engine/arena.js';
import { assertExact, assertSound, NaiveIndex } from '../../kit/engine/naive-vector-index.js';

const DIM = 8;
/** The number of rows that a small block table covers. */
const SMALL_ROWS = FINE_PLACE - FIRST_ROWS;

/** The sizes of all blocks in order: four of each size in the small table, then thirty-two of each. */
function sizesOfBlocks(): number[] {
  const coarse = Array.from({ length: SMALL_TABLE_BYTES / 4 }, (_, i) => 4 * 2 ** Math.floor(i / 4));
  return [
    ...coarse,
    ...Array.from({ length: (TABLE_BYTES - SMALL_TABLE_BYTES) / 4 }, (_, i) => 128 * 2 ** Math.floor(i / 32)),
  ];
}

test('blocks follow each other without a gap, up to the last ordinal', () => {
  let first = 0;
  for (const [i, rows] of sizesOfBlocks().entries()) {
    assert.equal(blockRows(4 * i), rows);
    assert.deepEqual(placeOf(first), { slot: 4 * i, rows, row: 0 });
    assert.deepEqual(placeOf(first + rows - 1), { slot: 4 * i, rows, row: rows - 1 });
    // Beyond the small table a block is at most a thirty-second of the rows before it.
    assert.ok(first < SMALL_ROWS || rows <= (first + FIRST_ROWS) / 32);
    first += rows;
  }
  assert.equal(first, ORDINALS_MAX);
});

test('one in 16 nodes of a level is also on the next', () => {
  const counts = [0, 0, 0, 0];
  for (let ordinal = 65536 - FIRST_ROWS; ordinal < 2 * 65536 - FIRST_ROWS; ordinal++)
    for (let level = 0; level <= levelOf(ordinal); level++) counts[level]!++;
  assert.deepEqual(counts.slice(0, 4), [65536, 4096, 256, 16]);
});

for (const seed of SEEDS) {
  test(`an index grows out of its small table (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const memory = createMemory();
    const owner = createKernel(memory);
    owner.open();
    const reader = new Kernel(new WebAssembly.Module(readKernelBytes()), memory);
    reader.joinReaders();
    const precision = prng.int(2) === 0 ? 'int8' : 'int16';
    const index = owner.createIndex(DIM, { graphMin: prng.int(2) === 0 ? 64 : 4500, quantizedMin: 2000, precision });
    const column = owner.createPriorities();
    const naive = new NaiveIndex(precision);
    const priorities = new Map<number, number>();
    const put = (ordinal: number): void => {
      const vector = randomVector(prng, DIM);
      index.put(ordinal, vector);
      naive.put(ordinal, vector);
      if (prng.int(10) > 0) return;
      column.reserve(ordinal as Ordinal);
      column.set(ordinal as Ordinal, 1 + ordinal);
      priorities.set(ordinal, 1 + ordinal);
    };
    for (let ordinal = 0; ordinal < SMALL_ROWS - 50; ordinal++) put(ordinal);
    // The ordinals are shuffled, so that the first one beyond the small table is not the next in order.
    const rest = Array.from({ length: 700 }, (_, i) => SMALL_ROWS - 50 + i).sort(() => prng.next() - 0.5);
    for (const [i, ordinal] of rest.entries()) {
      put(ordinal);
      if (i % 100 !== 0) continue;
      index.indexSome(prng.int(200));
      const query = randomVector(prng, DIM);
      reader.read(() => {
        const seen = reader.attach(index.root);
        assertExact(seen, naive, query, 10, seen.search(query, 10, { exact: true }), 'growing');
        assertSound(seen, naive, query, 10, seen.search(query, 10, { ef: 64 }), 'growing');
      });
    }
    while (index.hasWork) index.indexSome(100);
    const { badEdges, unreachable } = inspectGraph(memory, index.root);
    assert.deepEqual({ badEdges, unreachable }, { badEdges: 0, unreachable: 0 });
    assert.deepEqual(
      [...ordinalsIn(index.liveRows())],
      [...naive.rows.keys()].sort((a, b) => a - b),
    );
    for (let ordinal = 0; ordinal < SMALL_ROWS + 1000; ordinal++)
      assert.equal(column.of(ordinal as Ordinal), priorities.get(ordinal) ?? 0);
    const before = owner.usedBytes();
    column.drop();
    index.drop();
    while (owner.reclaim());
    assert.ok(owner.usedBytes() < before - 4000 * 4 * EDGES_0);
  });
}

test('an index stays whole when memory runs out while it grows', () => {
  const prng = createPrng(9);
  for (const pages of [18, 19, 20, 24]) {
    const owner = createKernel(createMemory(pages));
    owner.open();
    const index = owner.createIndex(DIM, { graphMin: 1_000_000, precision: 'int8' });
    const naive = new NaiveIndex('int8');
    const add = (ordinal: number): void => {
      const vector = randomVector(prng, DIM);
      index.put(ordinal, vector);
      naive.put(ordinal, vector);
    };
    assert.throws(() => {
      for (let ordinal = 0; ; ordinal++) add(ordinal);
    }, ArenaFull);
    const query = randomVector(prng, DIM);
    assertExact(index, naive, query, 10, index.search(query, 10, { exact: true }), `${pages} pages`);
    assert.deepEqual([...ordinalsIn(index.liveRows())], [...naive.rows.keys()]);
  }
});
