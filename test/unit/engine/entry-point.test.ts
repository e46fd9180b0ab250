// A search during the removal of the graph's entry point: it starts at another node, or scans the rows. It must not
// settle for the unindexed rows alone, though there are more of them than it has to find.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createPrng } from '../../../src/base/prng.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import { QUEUE_ROWS, ROOT_ENTRY } from '../../../src/engine/memory/layout.js';
import type { EntryReaderReport, EntryReaderStart } from '../../kit/engine/entry-reader.js';
import { indexAll } from '../../kit/engine/graph.js';
import { createMemory, randomVector, readKernelBytes } from '../../kit/engine/arena.js';

const DIM = 8;
const ROWS = 12_000;
const SEED = 31;

test(`searches find their rows while a writer keeps replacing the entry point, seed ${SEED}`, async () => {
  const module = new WebAssembly.Module(readKernelBytes());
  const memory = createMemory();
  const kernel = new Kernel(module, memory);
  kernel.format();
  const index = kernel.createIndex(DIM, { graphMin: 50, quantizedMin: Infinity });
  const prng = createPrng(SEED);
  const vectors = new Float32Array(new SharedArrayBuffer(4 * DIM * ROWS));
  const vectorOf = (row: number): Float32Array => vectors.subarray(row * DIM, (row + 1) * DIM);
  for (let row = 0; row < ROWS; row++) {
    vectorOf(row).set(randomVector(prng, DIM));
    index.put(row, vectorOf(row));
  }
  indexAll(index);

  const stop = new Int32Array(new SharedArrayBuffer(4));
  const workerData: EntryReaderStart = { module, memory, root: index.root, stop, rows: ROWS, vectors, seed: SEED };
  const worker = new Worker(new URL('../../kit/engine/entry-reader.js', import.meta.url), { workerData });
  await once(worker, 'message');
  // The rows that are put again are in the queue of unindexed rows, which are scanned: ten hits are found without any
  // graph search.
  for (let round = 0; round < QUEUE_ROWS / 2; round++) {
    const entry = (Atomics.load(new Uint32Array(memory.buffer), (index.root + ROOT_ENTRY) >> 2) & 0x0fffffff) >>> 0;
    index.put(entry, vectorOf(entry));
  }
  Atomics.store(stop, 0, 1);
  const [{ searches, missed }] = (await once(worker, 'message')) as [EntryReaderReport];
  assert(searches > 0);
  assert(missed <= searches * 0.01, `${missed} of ${searches} searches did not find the row whose vector they had`);
});
