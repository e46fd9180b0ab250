// One thread writes and another searches, each with its own kernel instance on one memory: the reader never gets a
// wrong ordinal, a row twice, a torn score or too few hits, while rows are put, replaced, removed and indexed and
// memory grows.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createPrng } from '../../../src/base/prng.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import { vectorOfPut, type ReaderReport, type ReaderStart } from '../../kit/engine/concurrent-reader.js';
import { createMemory, readKernelBytes } from '../../kit/engine/arena.js';

const DIM = 24;
const ORDINALS = 1500;
const K = 10;
const SEED = 21;

test(`a reader beside a writer gets right answers, seed ${SEED}`, async () => {
  const module = new WebAssembly.Module(readKernelBytes());
  const memory = createMemory();
  const kernel = new Kernel(module, memory);
  kernel.format();
  const index = kernel.createIndex(DIM, { graphMin: 50 });
  let puts = 0;
  const put = (ordinal: number): void => index.put(ordinal, vectorOfPut(puts++, DIM));
  // Rows below K are never removed. Replacing a row hides it for a moment, so there are a few more of them than K.
  for (let ordinal = 0; ordinal < 4 * K; ordinal++) put(ordinal);

  const stop = new Int32Array(new SharedArrayBuffer(4));
  const start: ReaderStart = { module, memory, root: index.root, stop, k: K, ordinals: ORDINALS, seed: SEED };
  const worker = new Worker(new URL('../../kit/engine/concurrent-reader.js', import.meta.url), { workerData: start });
  await once(worker, 'message');
  const prng = createPrng(SEED);
  for (let i = 0; i < 30_000; i++) {
    const ordinal = prng.int(ORDINALS);
    if (prng.int(3) > 0) put(ordinal);
    else if (ordinal >= 4 * K && index.isLive(ordinal)) index.remove(ordinal);
    if (i % 8 === 0 && index.indexSome(4) === 0) index.densifySome(4);
  }
  Atomics.store(stop, 0, 1);
  const [report] = (await once(worker, 'message')) as [ReaderReport];
  assert.deepEqual(report.faults, []);
  assert(report.searches > 0);
});
