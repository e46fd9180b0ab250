// The query log on its real worker, with a clock of the test's own: age, size, background trimming.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Log } from '../../../src/base/log.js';
import type { CollectionId } from '../../../src/api/ids.js';
// As in the server, this import keeps node-lmdb loaded when a worker ends.
import '../../../src/storage/data-directory.js';
import { sharedByStores } from '../../../src/engine/memory/shared-memory.js';
import { LogPool } from '../../../src/pool/log-pool.js';
import { QueryLog } from '../../../src/service/query-log/query-log.js';
import { holdStore } from '../../kit/held-store.js';
import { tempDirectory } from '../../kit/temp.js';
import { loggedQuery } from '../../kit/records.js';
import { until } from '../../kit/until.js';

const A = 1 as CollectionId;
const B = 2 as CollectionId;
const DAY_MS = 86_400_000;
const ALL = { offset: 0, limit: 1000 };

interface Bench {
  queryLog: QueryLog;
  directory: string;
  told: string[];
  clock: { nowMs: number };
}

function open(
  bounds: { entriesMax?: number; waitingBytesMax?: number } = {},
  directory = join(tempDirectory(), 'query-log'),
): Bench {
  const told: string[] = [];
  const tell = (_: object, message: string): void => void told.push(message);
  const log: Log = { debug: () => {}, info: () => {}, warn: tell, error: tell };
  const clock = { nowMs: Date.parse('2026-01-01T00:00:00Z') };
  const pool = new LogPool({
    directory,
    bounds: { entriesMax: bounds.entriesMax ?? 1e6, bytesMax: 1e9 },
    ...sharedByStores(0),
    log,
  });
  const queryLog = new QueryLog({
    pool,
    enabled: true,
    ageDaysMax: 30,
    waitingBytesMax: bounds.waitingBytesMax ?? 1e9,
    log,
    nowMs: () => clock.nowMs,
  });
  return { queryLog, directory, told, clock };
}

const texts = async (queryLog: QueryLog, collection: CollectionId): Promise<string[]> =>
  (await queryLog.list(collection, ALL)).map(({ text }) => text);

test('entries older than the bound are gone at once, and swept away later', async () => {
  const { queryLog, clock } = open();
  after(() => queryLog.close());
  const old = queryLog.append(A, loggedQuery('old', clock.nowMs)) ?? '';
  clock.nowMs += 29 * DAY_MS;
  queryLog.append(A, loggedQuery('new', clock.nowMs));
  assert.deepEqual(await texts(queryLog, A), ['new', 'old']);
  clock.nowMs += 2 * DAY_MS;
  assert.deepEqual(await texts(queryLog, A), ['new']);
  assert.equal(await queryLog.get(old), null);
  await queryLog.sweep();
  clock.nowMs -= 2 * DAY_MS;
  await until(async () => (await texts(queryLog, A)).length === 1);
  assert.equal(await queryLog.get(old), null);
});

test('the log of a dropped collection goes, and at the start those of all that are no more', async () => {
  const { queryLog, directory, clock } = open();
  for (const collection of [A, B, 3 as CollectionId])
    for (let i = 0; i < 1200; i++) queryLog.append(collection, loggedQuery(`${i}`, clock.nowMs));
  queryLog.forget(A);
  await until(async () => (await texts(queryLog, A)).length === 0);
  assert.equal((await texts(queryLog, B)).length, 1000);
  await queryLog.close();
  const { queryLog: next, clock: later } = open({}, directory);
  after(() => next.close());
  later.nowMs = clock.nowMs;
  await next.start([3 as CollectionId]);
  await until(async () => (await texts(next, B)).length === 0);
  assert.equal((await texts(next, 3 as CollectionId)).length, 1000);
});

test('when the log stands still, only so much waits; the rest goes unlogged, and is counted and told once', async () => {
  const { queryLog, directory, told, clock } = open({ waitingBytesMax: 2000 });
  after(() => queryLog.close());
  queryLog.append(A, loggedQuery('before', clock.nowMs));
  assert.deepEqual(await texts(queryLog, A), ['before']);
  const giveBack = await holdStore(directory);
  const ids: (string | undefined)[] = [];
  for (let i = 0; i < 100; i++) ids.push(queryLog.append(A, loggedQuery(`${i} ${'x'.repeat(100)}`, clock.nowMs)));
  const taken = ids.filter((id) => id !== undefined);
  assert.ok(taken.length > 0 && taken.length < 20, `${taken.length} of 100 found room`);
  assert.ok(queryLog.waitingBytes <= 2000, `${queryLog.waitingBytes} bytes wait`);
  await giveBack();
  assert.equal((await texts(queryLog, A)).length, taken.length + 1);
  assert.deepEqual(queryLog.counts, { appended: taken.length + 1, dropped: 100 - taken.length });
  assert.equal(told.filter((message) => message.includes('not logged')).length, 1);
});

test('a bound that is lower than before is kept from the start on', async () => {
  const { queryLog, directory, clock } = open();
  for (let i = 0; i < 1500; i++) queryLog.append(A, loggedQuery(`${i}`, clock.nowMs));
  await queryLog.close();
  const { queryLog: next, clock: later } = open({ entriesMax: 20 }, directory);
  after(() => next.close());
  later.nowMs = clock.nowMs;
  await next.start([A]);
  await until(async () => (await texts(next, A)).length === 20);
  assert.equal((await texts(next, A))[0], '1499');
});
