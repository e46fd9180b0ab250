// The quantized vectors of an index: their components compared with the naive version, the results of graph searches by
// them, writes while they are trained and trained again, duplicate vectors and removed rows, memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { PRECISIONS } from '../../../../src/api/choices.js';
import type { IndexOptions, Kernel } from '../../../../src/engine/memory/arena.js';
import type { VectorIndex } from '../../../../src/engine/hnsw/vector-index.js';
import { indexAll } from '../../../kit/engine/graph.js';
import { clusteredVectors, createKernel, createMemory, SEEDS } from '../../../kit/engine/arena.js';
import { assertSound, NaiveIndex } from '../../../kit/engine/naive-vector-index.js';
import { falling, principalVariances, readQuantizer, recallOf, unit } from '../../../kit/engine/naive-quantization.js';

const ROWS = 2000;

interface Built {
  readonly memory: WebAssembly.Memory;
  readonly kernel: Kernel;
  readonly index: VectorIndex;
}

function build(rows: readonly Float32Array[], options: IndexOptions = {}): Built {
  const memory = createMemory();
  const kernel = createKernel(memory);
  const index = kernel.createIndex(rows[0]!.length, { graphMin: 1, quantizedMin: 2, ...options });
  rows.forEach((row, ordinal) => index.put(ordinal, row));
  indexAll(index);
  while (index.hasWork) index.indexSome(8);
  return { memory, kernel, index };
}

for (const seed of SEEDS) {
  test(`the components cover as much of the variance as the true principal components, seed ${seed}`, () => {
    const rows = falling(seed, 300, 600).map((row) => row.subarray(0, 80));
    const { memory, index } = build(rows);
    const { components, varianceShare } = readQuantizer(memory, index)!;
    const variances = principalVariances(rows.map(unit));
    const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
    const best = sum(variances.slice(0, components)) / sum(variances);
    assert(Math.abs(best - varianceShare) < 0.01, `${varianceShare} of ${best}`);
  });

  for (const precision of PRECISIONS) {
    test(`answers are sound, of ${precision}, seed ${seed}`, () => {
      const rows = falling(seed, 50, ROWS);
      const { index } = build(rows, { precision });
      const naive = new NaiveIndex(precision);
      rows.forEach((row, ordinal) => naive.put(ordinal, row));
      for (const query of falling(seed + 100, 50, 20))
        for (const k of [1, 10, 100])
          assertSound(index, naive, query, k, index.search(query, k, { ef: 64 }), `seed ${seed}`);
    });
  }
}

for (const precision of PRECISIONS) {
  for (const dim of [33, 64, 65, 100, 130, 384]) {
    test(`recall@10 of ${dim} dimensions, ${precision}`, () => {
      const next = clusteredVectors(createPrng(dim), dim, 40, 0.3);
      const rows = Array.from({ length: ROWS }, () => next().map((value, i) => value * (i + 3) ** -0.7));
      const { memory, index } = build(rows.slice(0, -50), { precision });
      const quantizer = readQuantizer(memory, index);
      assert(quantizer && quantizer.components >= Math.min(dim, 192) / 2 && quantizer.bytes <= 64);
      const recall = recallOf(index, rows.slice(-50), 128);
      assert(recall >= 0.97, `recall@10 ${recall}, ${quantizer.varianceShare} of the variance`);
    });
  }
}

test('graph searches pass through removed rows without returning them, and return duplicates together with their node', () => {
  const rows = falling(7, 64, ROWS);
  for (let duplicate = 1; duplicate < 4; duplicate++) rows[ROWS - duplicate] = rows[5]!;
  const { index } = build(rows);
  const found = (): number[] => [...index.search(rows[5]!, 10, { ef: 64 }).ordinals];
  assert.deepEqual(found().slice(0, 4), [5, ROWS - 3, ROWS - 2, ROWS - 1]);
  index.remove(5);
  index.remove(ROWS - 2);
  assert.deepEqual(found().slice(0, 2), [ROWS - 3, ROWS - 1]);
  assert(!found().includes(5) && !found().includes(ROWS - 2));
});

test('identical rows, and fewer dimensions than components, do no harm', () => {
  const { index } = build(Array.from({ length: 40 }, () => new Float32Array(40).fill(2)));
  assert.equal(index.search(new Float32Array(40).fill(1), 10, { ef: 16 }).count, 10);
});

for (const seed of SEEDS.slice(0, 2)) {
  test(`rows written while components are trained, and trained again, are found by their quantized vectors, seed ${seed}`, () => {
    const prng = createPrng(seed);
    const memory = createMemory();
    const index = createKernel(memory).createIndex(64, { graphMin: 100, quantizedMin: 300 });
    const naive = new NaiveIndex();
    // The principal components of the first rows differ from those of the last.
    const rows = falling(seed, 64, 4000).map((row, i) => (i < 400 ? row : row.slice().reverse()));
    const known = new Set<number>();
    rows.forEach((row, ordinal) => {
      const at = prng.int(3) === 0 ? prng.int(ordinal + 1) : ordinal;
      for (const [target, vector] of [
        [ordinal, row],
        [at, rows[prng.int(rows.length)]!],
      ] as const) {
        index.put(target, vector);
        naive.put(target, vector);
        known.add(readQuantizer(memory, index)?.varianceShare ?? 0);
      }
      if (prng.int(20) === 0 && index.isLive(at)) {
        index.remove(at);
        naive.remove(at);
      }
      for (let i = 0; i < 4; i++) index.indexSome(prng.int(3));
    });
    while (index.hasWork) index.indexSome(16);
    assert(known.size >= 3, `${known.size} quantized vectors`);
    const queries = falling(seed + 9, 64, 60).map((row) => row.slice().reverse());
    for (const query of queries)
      assertSound(index, naive, query, 10, index.search(query, 10, { ef: 64 }), `seed ${seed}`);
    const recall = recallOf(index, queries, 64);
    assert(recall >= 0.97, `seed ${seed}: recall@10 ${recall}`);
  });
}

test('where memory has no room for quantized vectors, rows are written and found without', () => {
  const memory = createMemory(64);
  const index = createKernel(memory).createIndex(64, { graphMin: 100, quantizedMin: 6000 });
  const rows = falling(3, 64, 20_000);
  let count = 0;
  assert.throws(() => {
    for (; ; count++) {
      index.put(count, rows[count]!);
      index.indexSome(1);
    }
  }, /full/);
  assert(count > 6000, `${count} rows`);
  const recall = recallOf(index, rows.slice(-30));
  assert(recall >= 0.97, `recall@10 ${recall}`);
});

test('the same rows give the same quantized vectors, and dropping the index gives all memory back', () => {
  const rows = falling(9, 96, 500);
  const [query] = falling(10, 96, 1) as [Float32Array];
  const answers = [1, 2].map(() => {
    const { ordinals, scores } = build(rows).index.search(query, 10, { ef: 32 });
    return { ordinals, scores };
  });
  assert.deepEqual(answers[0], answers[1]);
  const { kernel, index } = build(rows);
  const other = kernel.createIndex(96, { graphMin: 1, quantizedMin: 2 });
  const before = kernel.usedBytes();
  rows.forEach((row, ordinal) => other.put(ordinal, row));
  for (let i = 0; i < 100; i++) other.indexSome(1);
  other.drop();
  assert(before - kernel.usedBytes() > 0, 'also of quantized vectors that were being made');
  assert(index.usedBytes > 500 * (48 + 192));
});
