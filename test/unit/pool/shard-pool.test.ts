// The shard pool: a shard whose opening fails is opened by another worker after a while; where a worker has died, its
// successor opens the shard at once, and gets no requests before it has. Uses real workers; opening a shard is
// replaced.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId } from '../../../src/api/ids.js';
import { takesOver } from '../../../src/base/thread.js';
import { createPool } from '../../kit/pools.js';
import { until } from '../../kit/until.js';

test('a step that fails after a shard has opened is tried again, by another worker', async () => {
  const { pool, openings, told } = createPool(async (before) => {
    if (before === 0) throw new Error('of the test');
  });
  await until(() => openings() === 2 && pool.readyCount === 1, 'the shard is not opened again');
  assert.deepEqual(told, ['a shard could not be opened; opening it will be retried']);
  await pool.close();
});

test('a worker that dies while idle has a successor', async () => {
  const { pool, openings, told } = createPool(() => Promise.resolve());
  await until(() => pool.readyCount === 1, 'the shard is not opened');
  const worker = pool['shards'][0]?.worker;
  await worker?.whenReady();
  worker?.threads[0]?.postMessage(null);
  await until(() => openings() === 2 && pool.readyCount === 1, 'the shard is not opened again');
  assert.deepEqual(told, ['a shard worker died']);
  await pool.close();
});

test('a write that has waited at the gate is rejected if the shard is no longer open', async () => {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const { pool, openings, told } = createPool(
    () => Promise.resolve(),
    async (before) => (before === 0 ? undefined : opened),
  );
  await until(() => pool.readyCount === 1, 'the shard is not opened');
  const collection = 1 as CollectionId;
  let write: Promise<unknown> | undefined;
  await pool.gate.exclusive('all', async () => {
    write = pool.request(0, 'dropCollection', { collection });
    write.catch(() => {});
    await pool.kill(0);
    await until(() => openings() === 2, 'the successor does not open the shard');
  });
  await assert.rejects(write as Promise<unknown>, { code: 'shard_unavailable' });
  open();
  await until(() => pool.readyCount === 1, 'the successor does not open the shard');
  assert.deepEqual([openings(), told], [2, []]);
  await pool.close();
});

test('workers that die in one tick have successors for their own shards, who know that they take over', async () => {
  const { pool, openings } = createPool(() => Promise.resolve(), undefined, 3);
  await until(() => pool.readyCount === 3, 'the shards are not opened');
  const workers = pool['shards'].map(({ worker }) => worker);
  await Promise.all(workers.map((worker) => worker.whenReady()));
  const { starts } = workers[0]?.['options'].workerData as { starts: SharedArrayBuffer };
  assert.deepEqual([...new Int32Array(starts)], [1, 1, 1], 'the first workers of all shards');
  await Promise.all([pool.kill(0), pool.kill(2)]);
  await until(() => openings() === 5 && pool.readyCount === 3, 'the shards are not opened again');
  assert.deepEqual([...new Int32Array(starts)], [2, 1, 2]);
  await pool.close();
});

test('the first worker of a shard takes nothing over, later ones do', () => {
  const starts = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  assert.deepEqual(
    [1, 1, 0, 1].map((place) => takesOver(starts, place)),
    [false, true, false, true],
  );
});
