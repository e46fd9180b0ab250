// A lazy pool starts all its threads with its first task: none before, and none once the pool has ended. Uses real
// workers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkerPool } from '../../../src/pool/worker-pool.js';
import { SILENT } from '../../kit/log.js';

const open = (created: () => void = () => {}): WorkerPool =>
  new WorkerPool({
    program: new URL('../../../workers/batch/worker.js', import.meta.url),
    name: 'a batch worker',
    threads: 2,
    workerData: { textBytesMax: 1000, memoryBytesMax: 2 ** 28 },
    log: SILENT,
    isLazy: true,
    created,
  });

const split = (pool: WorkerPool): Promise<unknown> =>
  pool.run({ bytes: Buffer.from('{"documents":[]}'), itemsMax: 10 }, { name: 'splitBatch' });

test('a lazy pool has no threads before its first task, and all of them from then on', async () => {
  let created = 0;
  const pool = open(() => created++);
  assert.deepEqual([pool.threads.length, created], [0, 0]);
  await Promise.all([split(pool), split(pool)]);
  assert.deepEqual([pool.threads.length, created], [2, 2]);
  await pool.end();
  assert.equal(pool.threads.length, 0);
});

test('a pool without tasks ends at once, and rejects tasks afterwards', async () => {
  const pool = open();
  await pool.end();
  await assert.rejects(split(pool), /has ended/);
  assert.equal(pool.threads.length, 0);
});

test('a thread that dies is replaced', async () => {
  const pool = open();
  await split(pool);
  await pool.kill();
  await split(pool);
  assert.equal(pool.threads.length, 2);
  await pool.end();
});
