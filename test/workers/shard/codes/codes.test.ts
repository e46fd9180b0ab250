// Codes: the axes against the twin's, scores of rows that are found, recall of the walk, copies and removed rows, memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import type { Kernel } from '../../../../workers/shard/kernel.js';
import type { VectorIndex } from '../../../../workers/shard/vector-index.js';
import { linkAll } from '../graph-kit.js';
import { clusteredVectors, createKernel, randomVector, SEEDS } from '../kernel-kit.js';
import { fill, principalVariances, recallOf, unit } from './naive-codes.js';

const ROWS = 2000;

function build(rows: readonly Float32Array[]): { kernel: Kernel; index: VectorIndex } {
  const kernel = createKernel();
  const index = kernel.createIndex(rows[0]!.length, 1);
  rows.forEach((row, ordinal) => index.put(ordinal, row));
  linkAll(index);
  return { kernel, index };
}

/** Vectors whose spread falls from axis to axis, turned by nothing: texts' do, and principal axes live from it. */
function falling(seed: number, dim: number, count: number): Float32Array[] {
  const prng = createPrng(seed);
  return Array.from({ length: count }, () => randomVector(prng, dim).map((value, i) => value * (i + 3) ** -0.7 + (i === 2 ? 0.5 : 0)));
}

for (const seed of SEEDS) {
  test(`the axes hold as much of the variance as the principal ones, seed ${seed}`, () => {
    const rows = falling(seed, 80, 600);
    const { kernel, index } = build(rows);
    const variances = principalVariances(rows.map(unit));
    const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
    const best = sum(variances.slice(0, 32)) / sum(variances);
    const coded = fill(kernel.createCodes(index, { axes4: 32, axes2: 0 }));
    assert(Math.abs(best - coded.varianceShare) < 0.01, `${coded.varianceShare} of ${best}`);
  });

  test(`what is found has its cosine to four digits, best first, seed ${seed}`, () => {
    const rows = falling(seed, 50, ROWS);
    const { kernel, index } = build(rows);
    const coded = fill(kernel.createCodes(index, { axes4: 32, axes2: 64 }));
    for (const query of falling(seed + 100, 50, 20)) {
      const { count, ordinals, scores, stamps } = coded.search(query, 10, { ef: 64, rerank: 32 });
      assert.equal(count, 10);
      ordinals.forEach((ordinal, i) => {
        const cosine = unit(rows[ordinal]!).reduce((sum, value, axis) => sum + value * unit(query)[axis]!, 0);
        assert(Math.abs(cosine - scores[i]!) < 1e-4, `seed ${seed}, row ${ordinal}`);
        assert(i === 0 || scores[i]! <= scores[i - 1]!, `seed ${seed}, place ${i}`);
        assert.equal(stamps[i], index.stampOf(ordinal));
      });
    }
  });
}

for (const [dim, axes4, axes2] of [[32, 32, 0], [100, 64, 64], [100, 96, 0], [130, 0, 128], [384, 64, 128], [384, 192, 0]] as const) {
  test(`recall@10 of ${axes4} axes at 4 bits and ${axes2} at 2, of ${dim}`, () => {
    const next = clusteredVectors(createPrng(dim), dim, 40, 0.3);
    const rows = Array.from({ length: ROWS }, () => next().map((value, i) => value * (i + 3) ** -0.7));
    const { kernel, index } = build(rows.slice(0, -50));
    const coded = fill(kernel.createCodes(index, { axes4, axes2 }));
    const recall = recallOf(index, coded, rows.slice(-50), 128, 64);
    assert(recall >= 0.95, `recall@10 ${recall}, ${coded.varianceShare} of the variance`);
  });
}

test('removed rows are passed and not answered, and copies are answered beside their node', () => {
  const rows = falling(7, 64, ROWS);
  for (let copy = 1; copy < 4; copy++) rows[ROWS - copy] = rows[5]!;
  const { kernel, index } = build(rows);
  const coded = fill(kernel.createCodes(index, { axes4: 64, axes2: 0 }));
  const found = (): number[] => [...coded.search(rows[5]!, 10, { ef: 64, rerank: 32 }).ordinals];
  assert.deepEqual(found().slice(0, 4), [5, ROWS - 3, ROWS - 2, ROWS - 1]);
  index.remove(5);
  index.remove(ROWS - 2);
  assert.deepEqual(found().slice(0, 2), [ROWS - 3, ROWS - 1]);
  assert(!found().includes(5) && !found().includes(ROWS - 2));
});

test('rows that are all the same, and fewer dimensions than axes, do no harm', () => {
  const { kernel, index } = build(Array.from({ length: 40 }, () => Float32Array.of(1, 2, 3)));
  const coded = fill(kernel.createCodes(index, { axes4: 32, axes2: 64 }));
  assert.equal(coded.search(Float32Array.of(1, 2, 3), 10, { ef: 16, rerank: 10 }).count, 10);
});

test('the same rows give the same codes, and dropping them gives all memory back', () => {
  const { kernel, index } = build(falling(9, 96, 500));
  const before = kernel.usedBytes();
  const query = falling(10, 96, 1)[0]!;
  const answers = [1, 2].map(() => {
    const coded = fill(kernel.createCodes(index, { axes4: 64, axes2: 64 }));
    const { ordinals, scores } = coded.search(query, 10, { ef: 32, rerank: 16 });
    assert(coded.usedBytes > 500 * (48 + 192));
    coded.drop();
    return { ordinals, scores };
  });
  assert.deepEqual(answers[0], answers[1]);
  assert(kernel.usedBytes() - before < 300_000, 'only the scratch of the search stays');
});
