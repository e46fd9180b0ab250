// The arena: growth past its first page, freed memory, and what still works when it is full.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AssertionFailed } from '../../../src/base/assert.js';
import { createPrng } from '../../../src/base/prng.js';
import { Instance, ArenaFull } from '../../../src/engine/memory/bindings.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import { SCRATCH_INPUT } from '../../../src/engine/memory/layout.js';
import type { VectorIndex } from '../../../src/engine/hnsw/vector-index.js';
import { createKernel, createMemory, randomVector, readKernelBytes } from '../../kit/engine/arena.js';
import { assertExact, assertSound, NaiveIndex } from '../../kit/engine/naive-vector-index.js';

const DIM = 64;
/** 2 MiB: enough for the scratch memory and some thousand rows. */
const PAGES_FEW = 32;

/** Puts rows until the arena is full; returns how many were put. */
function fill(index: VectorIndex, naive: NaiveIndex): number {
  const prng = createPrng(1);
  for (let ordinal = 0; ; ordinal++) {
    const vector = randomVector(prng, DIM);
    try {
      index.put(ordinal, vector);
    } catch (error) {
      assert(error instanceof ArenaFull);
      return ordinal;
    }
    naive.put(ordinal, vector);
  }
}

test('dropped indexes give all their memory back, and it is used again', () => {
  const prng = createPrng(2);
  const kernel = createKernel();
  kernel.createIndex(1).search(Float32Array.of(1), 1);
  const before = kernel.usedBytes();
  let reserved = 0;
  for (let round = 0; round < 5; round++) {
    const indexes = [DIM, 100, 7].map((dim) => kernel.createIndex(dim, { graphMin: 10 }));
    for (let ordinal = 0; ordinal < 1000; ordinal++)
      for (const index of indexes) index.put(ordinal, randomVector(prng, index.dim));
    for (const index of indexes) while (index.indexSome(100) > 0);
    assert(kernel.usedBytes() - before >= indexes.reduce((sum, index) => sum + index.usedBytes, 0));
    for (const at of [1, 0, 2]) indexes[at]?.drop();
    if (round === 0) reserved = kernel.reservedBytes();
  }
  // The scratch memory may have grown once; everything else has to be freed.
  assert(kernel.usedBytes() - before < 8192, `${kernel.usedBytes() - before} bytes stay`);
  assert.equal(kernel.reservedBytes(), reserved);
});

test('a small index is small', () => {
  const kernel = createKernel();
  const index = kernel.createIndex(384);
  index.put(0, new Float32Array(384).fill(1));
  assert(index.usedBytes < 8192, `${index.usedBytes} bytes`);
});

test('a full arena says so, and keeps and finds all it has', () => {
  const index = createKernel(createMemory(PAGES_FEW)).createIndex(DIM, { graphMin: 1e9 });
  const naive = new NaiveIndex();
  const rows = fill(index, naive);
  assert(rows > 1000);
  assert.equal(index.liveCount, rows);
  const query = randomVector(createPrng(3), DIM);
  assertExact(index, naive, query, 20, index.search(query, 20), 'full');
  const rowVersion = index.rowVersionOf(0);
  index.put(0, query);
  naive.put(0, query);
  assert.notEqual(index.rowVersionOf(0), rowVersion);
  assertExact(index, naive, query, 20, index.search(query, 20), 'replaced in a full arena');
});

test('rows for which memory has no room for edges stay unindexed and are found', () => {
  const index = createKernel(createMemory(PAGES_FEW)).createIndex(DIM, { graphMin: 1 });
  const naive = new NaiveIndex();
  const rows = fill(index, naive);
  while (index.indexSome(rows) > 0);
  assert(index.unindexedCount > 0);
  const prng = createPrng(4);
  for (let i = 0; i < 2000; i++) {
    const [ordinal, vector] = [prng.int(rows), randomVector(prng, DIM)];
    index.put(ordinal, vector);
    naive.put(ordinal, vector);
  }
  const query = randomVector(prng, DIM);
  assertExact(index, naive, query, 20, index.search(query, 20, { exact: true }), 'exact');
  assertSound(index, naive, query, 20, index.search(query, 20, { ef: 50 }), 'walk');
});

test('a full arena rejects a new index', () => {
  const kernel = createKernel(createMemory(PAGES_FEW));
  const made: VectorIndex[] = [];
  assert.throws(() => {
    for (;;) made.push(kernel.createIndex(DIM));
  }, ArenaFull);
  for (const index of made) index.drop();
  kernel.createIndex(DIM).put(0, new Float32Array(DIM).fill(1));
});

test('small blocks freed in any order make room for large ones', () => {
  const prng = createPrng(5);
  const kernel = createKernel(createMemory(PAGES_FEW));
  const small: VectorIndex[] = [];
  assert.throws(() => {
    for (;;) {
      const index = kernel.createIndex(DIM);
      small.push(index);
      index.put(0, randomVector(prng, DIM));
    }
  }, ArenaFull);
  while (small.length > 0) small.splice(prng.int(small.length), 1)[0]?.drop();
  const large = kernel.createIndex(16384);
  for (let ordinal = 0; ordinal < 12; ordinal++) large.put(ordinal, randomVector(prng, 16384));
  assert.equal(large.liveCount, 12);
});

test('format empties the arena, and row versions continue', () => {
  const kernel = createKernel();
  const vector = Float32Array.of(1, 2);
  const before = kernel.createIndex(2);
  before.put(0, vector);
  const rowVersion = before.rowVersionOf(0);
  kernel.format();
  assert.equal(kernel.usedBytes(), 0);
  const after = kernel.createIndex(2);
  after.put(0, vector);
  assert(after.rowVersionOf(0) > rowVersion);
});

test('memory that was never formatted is refused', () => {
  const kernel = new Kernel(new WebAssembly.Module(readKernelBytes()), createMemory());
  assert.throws(() => kernel.createIndex(4), AssertionFailed);
});

test('the areas of the scratch memory grow by half, not at every step', () => {
  const memory = createMemory();
  createKernel(memory);
  const instance = new Instance(new WebAssembly.Module(readKernelBytes()), memory);
  const places = new Set<number>();
  for (let numbers = 4096; numbers <= 8192; numbers += 4) {
    instance.setInput(new Float32Array(numbers));
    places.add(instance.word(instance.scratch + SCRATCH_INPUT));
  }
  assert(places.size <= 4, `${places.size} places of the same area`);
});
