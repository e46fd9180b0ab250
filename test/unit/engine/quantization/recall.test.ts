// What an index sees to: searches as they are by default find .97 of the ten nearest of its rows, whatever the spectrum
// of its vectors, since recall is checked and graph searches become broader, quantized vectors longer, or rows lead.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { EF_MIN, ROOT_EF } from '../../../../src/engine/memory/layout.js';
import { createKernel, createMemory, randomVector } from '../../../kit/engine/arena.js';
import { falling, readQuantizer, recallOf } from '../../../kit/engine/naive-quantization.js';

/**
 * Learns, links and checks; answers the `ef` of graph searches, the components of quantized vectors, and the recall of
 * some of the rows.
 */
function build(rows: readonly Float32Array[], dim: number): { ef: number; bytes: number; recall: number } {
  const memory = createMemory();
  const index = createKernel(memory).createIndex(dim, { graphMin: 1, quantizedMin: 500 });
  rows.forEach((row, ordinal) => index.put(ordinal, row));
  while (index.hasWork) index.indexSome(16);
  const ef = new Uint32Array(memory.buffer)[(index.root + ROOT_EF) >>> 2]!;
  // The rows are too few for a graph search by default.
  return { ef, bytes: readQuantizer(memory, index)?.bytes ?? 0, recall: recallOf(index, rows.slice(-50), ef) };
}

test('a falling spectrum needs no more than the narrowest walk and one line', () => {
  const { ef, bytes, recall } = build(falling(1, 384, 3000), 384);
  assert.deepEqual([ef, bytes], [EF_MIN, 64]);
  assert(recall >= 0.97, `recall@10 ${recall}`);
});

for (const dim of [20, 40, 100, 300]) {
  test(`vectors that lie evenly in ${dim} dimensions`, () => {
    const prng = createPrng(dim);
    const { ef, bytes, recall } = build(
      Array.from({ length: 2000 }, () => randomVector(prng, dim)),
      dim,
    );
    // Nothing comes after the broadest graph search by rows.
    assert(
      recall >= 0.97 || (bytes === 0 && ef === 4096),
      `recall@10 ${recall}, ef ${ef}, quantized vectors of ${bytes}`,
    );
  });
}
