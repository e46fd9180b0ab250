// Trimming an index whose last rows are free: while they are only hidden, readers that entered before still see their
// memory; once freed, other structs use it. Compared with the naive version, with a graph and quantized vectors, and
// with the edges in memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import type { VectorIndex } from '../../../src/engine/hnsw/vector-index.js';
import { inspectGraph } from '../../kit/engine/graph.js';
import { createKernel, createMemory, randomVector, readKernelBytes, SEEDS } from '../../kit/engine/arena.js';
import { assertExact, assertSound, NaiveIndex } from '../../kit/engine/naive-vector-index.js';

const DIM = 16;
const ROWS = 1200;
const HIDE_STEP = 7;

interface Trimmed {
  index: VectorIndex;
  naive: NaiveIndex;
}

function link(index: VectorIndex): void {
  while (index.hasWork) index.indexSome(50);
}

function check({ index, naive }: Trimmed, queries: readonly Float32Array[], label: string): void {
  for (const query of queries) {
    assertExact(index, naive, query, 10, index.search(query, 10, { exact: true }), label);
    assertSound(index, naive, query, 10, index.search(query, 10, { ef: 64 }), label);
  }
}

/** Writes a row for each ordinal from `from` to `end`. */
function write({ index, naive }: Trimmed, from: number, end: number, next: () => Float32Array): void {
  for (let ordinal = from; ordinal < end; ordinal++) {
    const vector = next();
    index.put(ordinal, vector);
    naive.put(ordinal, vector);
  }
}

function removeWhere({ index, naive }: Trimmed, isRemoved: (ordinal: number) => boolean): void {
  for (const ordinal of [...naive.rows.keys()].filter(isRemoved)) {
    index.remove(ordinal);
    naive.remove(ordinal);
  }
}

for (const seed of SEEDS) {
  test(`the last rows of an index are trimmed and added again beside a reader (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const memory = createMemory();
    const reader = new Kernel(new WebAssembly.Module(readKernelBytes()), memory);
    reader.joinReaders();
    const owner = createKernel(memory);
    owner.open();
    const trimmed: Trimmed = {
      index: owner.createIndex(DIM, { graphMin: 32, quantizedMin: 128 }),
      naive: new NaiveIndex(),
    };
    const { index } = trimmed;
    const queries = Array.from({ length: 5 }, () => randomVector(prng, DIM));
    for (let round = 0; round < 3; round++) {
      write(trimmed, index.end, ROWS, () => randomVector(prng, DIM));
      if (prng.int(3) > 0) link(index);
      reader.read(() => check({ index: reader.attach(index.root), naive: trimmed.naive }, queries, 'full'));
      const end = prng.int(ROWS / 4);
      const full = { all: owner.usedBytes(), index: index.usedBytes };
      // Of the rows before `end` either none are removed, so that the graph stays, or many, so that it is dropped.
      const removedPercent = prng.int(2) * 60;
      removeWhere(trimmed, (ordinal) => ordinal >= end || prng.int(100) < removedPercent);
      reader.read(() => {
        const seen = { index: reader.attach(index.root), naive: trimmed.naive };
        const retired = owner.retiredBytes();
        while (!index.hideSome(end, HIDE_STEP)) check(seen, queries.slice(0, 1), 'while rows are hidden');
        const epoch = owner.endEpoch();
        assert.equal(owner.haveLeft(epoch), false);
        assert.deepEqual([index.end, owner.retiredBytes()], [Math.min(end, index.end), retired]);
        check(seen, queries, 'hidden');
      });
      assert.ok(owner.haveLeft(owner.endEpoch()));
      index.freeFrom(index.end);
      check(trimmed, queries, 'freed');
      while (owner.reclaim());
      assert.ok(index.usedBytes < 0.6 * full.index, `${full.index} bytes before, ${index.usedBytes} after`);
      // No other memory was freed or allocated, unless the graph of the remaining rows starts anew.
      assert.ok(
        full.all - owner.usedBytes() >= full.index - index.usedBytes,
        `${full.all} bytes before in all, ${owner.usedBytes()} after`,
      );
      link(index);
      check(trimmed, queries, 'linked again');
      const { badEdges, unreachable } = inspectGraph(memory, index.root);
      assert.deepEqual({ badEdges, unreachable }, { badEdges: 0, unreachable: 0 });
    }
    const before = owner.usedBytes();
    index.drop();
    while (owner.reclaim());
    assert.ok(owner.usedBytes() < before);
  });
}

test('rows that are hidden when an index is dropped leave nothing behind', () => {
  const owner = createKernel();
  owner.open();
  const prng = createPrng(5);
  const used = (): number => {
    const trimmed: Trimmed = { index: owner.createIndex(DIM, { graphMin: 32 }), naive: new NaiveIndex() };
    write(trimmed, 0, ROWS, () => randomVector(prng, DIM));
    link(trimmed.index);
    removeWhere(trimmed, (ordinal) => ordinal >= 100);
    while (!trimmed.index.hideSome(100, HIDE_STEP));
    trimmed.index.drop();
    return owner.usedBytes();
  };
  const first = used();
  assert.equal(used(), first);
});
