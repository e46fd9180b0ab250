// A shard whose opening fails is opened by another worker a while later; one whose worker has died, then or while it
// had nothing to do, has its successor at once, who is left alone and asked for nothing before it has opened the shard.
// Real workers; what opening asks of them is replaced.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CollectionId } from '../../../src/contract/ids.js';
import { Quarantine } from '../../../src/pool/quarantine.js';
import { ShardPool } from '../../../src/pool/shard-pool.js';
import { OPEN_AGAIN_MS } from '../../../src/pool/shard-seat.js';
import { createSharedShards } from '../../../src/pool/shared-shards.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

interface TestPool {
  pool: ShardPool;
  /** How often a worker was found that the shard is to be opened by. */
  openings: () => number;
  told: string[];
}

/** One shard. What opens it, and what follows, are given how often that has been before. */
function createPool(
  opened: (before: number) => Promise<void>,
  open = async (_: number): Promise<void> => {},
): TestPool {
  const told: string[] = [];
  const tell = (_: object, message: string): void => void told.push(message);
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: tell };
  let [openings, before] = [0, 0];
  const pool = new ShardPool({
    shared: createSharedShards(1, tempDirectory(), { idleSeconds: 0 }),
    quarantine: new Quarantine(() => undefined, log),
    log,
    open: () => open(openings++),
    opened: () => opened(before++),
    tenantOf: () => undefined,
  });
  return { pool, openings: () => openings, told };
}

test('what fails once a shard takes commands is tried again, by another worker', async () => {
  const { pool, openings, told } = createPool(async (before) => {
    if (before === 0) throw new Error('of the test');
  });
  await until(() => openings() === 2 && pool.readyCount === 1, 'the shard is not opened again');
  assert.deepEqual(told, ['a shard could not be opened, and is tried again']);
  await pool.close();
});

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

test('nor is it where the failure was told before the death', async () => {
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

test('a worker that breaks while nothing is asked of it has a successor', async () => {
  const { pool, openings, told } = createPool(() => Promise.resolve());
  await until(() => pool.readyCount === 1, 'the shard is not opened');
  pool['piscina'].threads[0]?.postMessage(null);
  await until(() => openings() === 2 && pool.readyCount === 1, 'the shard is not opened again');
  assert.deepEqual(told, ['a shard worker died']);
  await pool.close();
});

test('a write that has waited at the gate is refused where the shard is not open any more', async () => {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const { pool, openings, told } = createPool(
    () => Promise.resolve(),
    async (before) => (before === 0 ? undefined : opened),
  );
  await until(() => pool.readyCount === 1, 'the shard is not opened');
  const collection = 1 as CollectionId;
  let write: Promise<unknown> | undefined;
  await pool.gate.hold('all', async () => {
    write = pool.ask(0, 'dropCollection', { collection });
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
