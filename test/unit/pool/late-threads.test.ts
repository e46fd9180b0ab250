// Threads that start with their first task: none before, all of them then, and none for one who has ended them. Real
// workers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LateThreads, workerOptions } from '../../../src/pool/worker-pool.js';

const open = (begun: () => void = () => {}): LateThreads =>
  new LateThreads(workerOptions('batch/worker.js', 2, { textBytesMax: 1000, memoryBytesMax: 2 ** 28 }), begun);

const split = (threads: LateThreads): Promise<unknown> =>
  threads.run({ bytes: Buffer.from('{"documents":[]}'), itemsMax: 10 }, { name: 'splitBatch' });

test('there are none before the first task, and all from then on', async () => {
  let begun = 0;
  const threads = open(() => begun++);
  assert.deepEqual([threads.threads.length, begun], [0, 0]);
  await Promise.all([split(threads), split(threads)]);
  assert.deepEqual([threads.threads.length, begun], [2, 1]);
  await threads.end();
  assert.equal(threads.threads.length, 0);
});

test('those that were never asked are ended at once, and asked for nothing afterwards', async () => {
  const threads = open();
  await threads.end();
  assert.throws(() => threads.begin(), /have ended/);
  await assert.rejects(split(threads), /have ended/);
});

test('one that dies is replaced', async () => {
  const threads = open();
  threads.begin().on('error', () => undefined);
  await split(threads);
  await threads.kill();
  await split(threads);
  assert.equal(threads.threads.length, 2);
  await threads.end();
});
