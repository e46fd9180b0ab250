// A lazy pool starts all its threads with its first task: none before, and none once the pool has ended. Uses real
// workers.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { WorkerPool } from '../../../src/pool/worker-pool.js';
import { SILENT } from '../../kit/log.js';
import { until } from '../../kit/until.js';
import { tempDirectory } from '../../kit/temp.js';

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

/** A pool of one thread whose first two threads die before they have loaded. */
function dyingPool(isLazy: boolean, created?: () => void): WorkerPool {
  const file = join(tempDirectory(), 'program.mjs');
  writeFileSync(
    file,
    `import { parentPort, threadId, workerData } from 'node:worker_threads';
if (Atomics.add(new Int32Array(workerData.starts), 0, 1) < 2) process.exit(3);
parentPort.postMessage({ ready: threadId });
export const run = (task) => task;`,
  );
  const workerData = { starts: new SharedArrayBuffer(4) };
  return new WorkerPool({
    program: pathToFileURL(file),
    name: 'a thread',
    threads: 1,
    workerData,
    log: SILENT,
    isLazy,
    ...(created && { created }),
  });
}

test('threads that die before they have loaded harm the tasks of that moment alone', async () => {
  const pool = dyingPool(true);
  for (let dead = 0; dead < 2; dead++)
    await assert.rejects(Promise.all([pool.run('first'), pool.run('second')]), Error, `death ${dead}`);
  assert.deepEqual(await Promise.all([pool.run('first'), pool.run('second')]), ['first', 'second']);
  assert.equal(pool.threads.length, 1);
  await pool.end();
});

test('a pool that is not lazy starts threads again by itself', async () => {
  let created = 0;
  const pool = dyingPool(false, () => created++);
  // Piscina tells of the first thread when it starts and of its successor when that has loaded, which it never does.
  await until(() => created === 2);
  assert.equal(await pool.run('a task'), 'a task');
  await pool.end();
});
