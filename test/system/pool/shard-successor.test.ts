// The successor of a shard's worker that died is not ended for an earlier failure: the test waits longer than a failed
// shard waits before it is opened again. Uses real workers; opening a shard is replaced.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { OPEN_AGAIN_MS } from '../../../src/pool/shard-pool.js';
import { createPool } from '../../kit/pools.js';
import { until } from '../../kit/until.js';

test('the successor of a worker that died while its shard was opened is not ended for it', async () => {
  let fail = (): void => {};
  const failed = new Promise<void>((_, reject) => (fail = () => reject(new Error('of the test'))));
  const { pool, openings, told } = createPool((before) => (before === 0 ? failed : Promise.resolve()));
  await until(() => pool.openCount === 1, 'the shard is not opened');
  assert.equal(pool.readyCount, 0, 'what follows its opening is still to come');
  await pool.kill(0);
  fail();
  await until(() => openings() === 2 && pool.openCount === 1, 'the successor does not open the shard');
  await sleep(2 * OPEN_AGAIN_MS);
  assert.deepEqual([openings(), pool.openCount, pool.readyCount, told], [2, 1, 1, []]);
  await pool.close();
});

test('the successor is not ended where the failure was reported before the death', async () => {
  let fails = true;
  const { pool, openings } = createPool(async () => {
    if (fails) throw new Error('of the test');
  });
  await until(() => openings() === 1, 'the shard is not opened');
  fails = false;
  await pool.kill(0);
  await until(() => openings() === 2, 'the successor does not open the shard');
  await sleep(2 * OPEN_AGAIN_MS);
  assert.equal(openings(), 2);
  await pool.close();
});
