// Searches with defaults find 97 % of the ten nearest rows, whatever the spectrum of the vectors: the recall tuner
// measures recall, and then raises ef, lengthens the quantized vectors, or lets full rows lead the search.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { EF_MIN, ROOT_EF } from '../../../../src/engine/memory/layout.js';
import { createKernel, createMemory, randomVector } from '../../../kit/engine/arena.js';
import { falling, readQuantizer, recallOf } from '../../../kit/engine/naive-quantization.js';

/**
 * Trains the quantizer, indexes all rows and tunes; returns the ef of graph searches, the bytes of a quantized vector,
 * and the recall for some of the rows as queries.
 */
function build(rows: readonly Float32Array[], dim: number): { ef: number; bytes: number; recall: number } {
  const memory = createMemory();
  const index = createKernel(memory).createIndex(dim, { graphMin: 1, quantizedMin: 500 });
  rows.forEach((row, ordinal) => index.put(ordinal, row));
  while (index.hasWork) index.indexSome(16);
  const ef = new Uint32Array(memory.buffer)[(index.root + ROOT_EF) >>> 2]!;
  // The ef is given, since by default so few rows would be scanned.
  return { ef, bytes: readQuantizer(memory, index)?.bytes ?? 0, recall: recallOf(index, rows.slice(-50), ef) };
}

test('a falling spectrum needs only the smallest ef and one cache line per quantized vector', () => {
  const { ef, bytes, recall } = build(falling(1, 384, 3000), 384);
  assert.deepEqual([ef, bytes], [EF_MIN, 64]);
  assert(recall >= 0.97, `recall@10 ${recall}`);
});

for (const dim of [20, 40, 100, 300]) {
  test(`searches find 97 % among vectors that are evenly spread in ${dim} dimensions`, () => {
    const prng = createPrng(dim);
    const { ef, bytes, recall } = build(
      Array.from({ length: 2000 }, () => randomVector(prng, dim)),
      dim,
    );
    // A graph search by full rows with the largest ef is the last resort.
    assert(
      recall >= 0.97 || (bytes === 0 && ef === 4096),
      `recall@10 ${recall}, ef ${ef}, quantized vectors of ${bytes}`,
    );
  });
}
