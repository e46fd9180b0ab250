// The query log on its real worker, with a clock of the test's own: age, size, background trimming.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Log } from '../../../src/base/log.js';
import { SharedMeters } from '../../../src/base/meters.js';
import type { CollectionId } from '../../../src/api/ids.js';
// As in the server, this import keeps node-lmdb loaded when a worker ends.
import '../../../src/storage/data-directory.js';
import { sharedByStores } from '../../../src/engine/memory/shared-memory.js';
import { LogPool } from '../../../src/pool/log-pool.js';
import { samplingOf } from '../../../src/service/query-log/log-buffer.js';
import { type AskOthers, QueryLog } from '../../../src/service/query-log/query-log.js';
import { createPrng } from '../../../src/base/prng.js';
import type { LoggedQuery } from '../../../src/storage/query-log-commands.js';
import { encodeQuery, queryIdBytes } from '../../../src/storage/query-log-records.js';
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
  bounds: { entriesMax?: number; bytesMax?: number; waitingBytesMax?: number } = {},
  directory = tempDirectory(),
  writers = 1,
  askOthers?: AskOthers,
): Bench {
  const told: string[] = [];
  const tell = (_: object, message: string): void => void told.push(message);
  const log: Log = { debug: () => {}, info: () => {}, warn: tell, error: tell };
  const clock = { nowMs: Date.parse('2026-01-01T00:00:00Z') };
  const shared = sharedByStores(0);
  const inStore = { entriesMax: bounds.entriesMax ?? 1e6, bytesMax: bounds.bytesMax ?? 1e9 };
  const pool = new LogPool({ directory, writers, bounds: inStore, ...shared, log });
  const queryLog = new QueryLog({
    pool,
    enabled: true,
    bounds: inStore,
    meter: SharedMeters.over(shared.meters).queryLog,
    ageDaysMax: 30,
    waitingBytesMax: bounds.waitingBytesMax ?? 1e9,
    log,
    nowMs: () => clock.nowMs,
    askOthers,
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

test('when the log stands still, only so much waits; every n-th search stands for those that are left out', async () => {
  const { queryLog, directory, told, clock } = open({ waitingBytesMax: 20_000 });
  after(() => queryLog.close());
  queryLog.append(A, loggedQuery('before', clock.nowMs));
  assert.deepEqual(await texts(queryLog, A), ['before']);
  const giveBack = await holdStore(join(directory, 'query-log'));
  const ids: (string | undefined)[] = [];
  for (let i = 0; i < 1000; i++) ids.push(queryLog.append(A, loggedQuery(`${i} ${'x'.repeat(100)}`, clock.nowMs)));
  const taken = ids.filter((id) => id !== undefined);
  assert.ok(taken.length > 20 && taken.length < 200, `${taken.length} of 1000 are logged`);
  assert.ok(queryLog.waitingBytes <= 20_000, `${queryLog.waitingBytes} bytes wait`);
  await giveBack();
  await until(() => queryLog.waitingBytes === 0);
  // The next search is logged again, for itself and those that were left out since the last entry.
  queryLog.append(A, loggedQuery('after', clock.nowMs));
  const listed = await queryLog.list(A, ALL);
  assert.deepEqual(
    listed.slice(1, -1).map(({ id }) => id),
    taken.reverse(),
  );
  const weights = listed.map(({ rest: { sampled } }) => sampled ?? 1);
  assert.ok(weights.some((weight) => weight >= 16) && weights.every((weight) => weight <= 128), weights.join());
  const { stored, sampledOut, full, failed, died } = queryLog.counts;
  assert.equal(stored + sampledOut + full, 1002);
  assert.deepEqual([stored, failed, died], [listed.length, 0, 0]);
  assert.equal(
    weights.reduce((sum, weight) => sum + weight, 0),
    1002 - full,
  );
  assert.equal(told.filter((message) => message.includes('some of the searches')).length, 1);
});

test('the sampling grows with what waits', () => {
  const at = [0, 50, 51, 75, 99, 100].map((waiting) => samplingOf(waiting, 100));
  assert.deepEqual(at, [1, 1, 2, 16, 128, 128]);
});

test('beyond the bytes that may wait nothing is logged, which is counted and told once', async () => {
  const { queryLog, directory, told, clock } = open({ waitingBytesMax: 1000 });
  after(() => queryLog.close());
  await texts(queryLog, A);
  const giveBack = await holdStore(join(directory, 'query-log'));
  for (let i = 0; i < 3; i++) queryLog.append(A, loggedQuery('x'.repeat(2000), clock.nowMs));
  await giveBack();
  assert.deepEqual(queryLog.counts, { stored: 0, sampledOut: 0, full: 3, failed: 0, died: 0 });
  assert.equal(told.filter((message) => message.startsWith('searches are not logged')).length, 1);
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

/** What one log would have: the entries of each collection, oldest first. */
class NaiveLog {
  private readonly entries = new Map<CollectionId, { id: string; text: string; bytes: number }[]>();

  constructor(private readonly bounds: { entriesMax: number; bytesMax: number }) {}

  add(collection: CollectionId, id: string, query: LoggedQuery): void {
    const log = this.entries.get(collection) ?? [];
    log.push({ id, text: query.text, bytes: encodeQuery(query).length });
    while (log.length > this.bounds.entriesMax || sum(log.map(({ bytes }) => bytes)) > this.bounds.bytesMax)
      log.shift();
    this.entries.set(collection, log);
  }

  list(
    collection: CollectionId,
    { before, offset, limit }: { before?: string; offset: number; limit: number },
  ): string[] {
    const newest = (this.entries.get(collection) ?? [])
      .filter(({ id }) => before === undefined || id < before)
      .reverse();
    return newest.slice(offset, offset + limit).map(({ text }) => text);
  }

  has(collection: CollectionId, id: string): boolean {
    return (this.entries.get(collection) ?? []).some((entry) => entry.id === id);
  }

  drop(collection: CollectionId): void {
    this.entries.delete(collection);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

for (const counts of [[1], [2], [3], [4], [1, 4, 2], [3, 1]]) {
  test(`a log of ${counts.join(', then ')} writers reads as one log does, whatever is appended, read and dropped`, async () => {
    const seed = Number(process.env.TEST_SEED ?? 7);
    const random = createPrng(seed + counts.length);
    const bounds = { entriesMax: 40, bytesMax: 5000 };
    const naive = new NaiveLog(bounds);
    const directory = tempDirectory();
    const known: { collection: CollectionId; id: string }[] = [];
    let made = 0;
    // A dropped collection gets no more entries: its id is never used again.
    const collections = [1, 2, 3];
    for (const writers of counts) {
      const { queryLog, clock } = open(bounds, directory, writers);
      clock.nowMs += made;
      for (let step = 0; step < 120; step++) {
        const where = `seed ${seed}, ${writers} writers, step ${step}`;
        const at = random.int(3);
        const collection = collections[at] as CollectionId;
        const kind = random.int(10);
        if (kind < 5) {
          for (let i = random.int(12); i > 0; i--) {
            clock.nowMs += random.int(2);
            const query = loggedQuery(`${made++} ${'y'.repeat(random.int(200))}`, clock.nowMs);
            const id = queryLog.append(collection, query) ?? '';
            naive.add(collection, id, query);
            known.push({ collection, id });
          }
          // A batch, which goes to the next writer.
          await queryLog.flush();
        } else if (kind < 8) {
          const page = { offset: random.int(3) === 0 ? random.int(50) : 0, limit: 1 + random.int(30) };
          const cursor = random.int(2) === 0 ? known[random.int(known.length)] : undefined;
          const asked = { ...page, ...(cursor?.collection === collection && { before: cursor.id }) };
          const listed = (await queryLog.list(collection, asked)).map(({ text }) => text);
          assert.deepEqual(listed, naive.list(collection, asked), where);
        } else if (kind < 9 && known.length > 0) {
          const { collection: of, id } = known[random.int(known.length)] as (typeof known)[number];
          const found = await queryLog.get(id, random.int(2) === 0 ? of : undefined);
          assert.equal(found !== null, naive.has(of, id), where);
        } else if (random.int(4) === 0) {
          queryLog.forget(collection);
          naive.drop(collection);
          collections[at] = collection + 3;
          await until(async () => (await queryLog.list(collection, ALL)).length === 0);
        }
      }
      await queryLog.close();
      made += 10;
    }
  });
}

test('what is restored goes to one log, and keeps away from ids that other collections have in any store', async () => {
  const { queryLog, clock } = open({}, tempDirectory(), 3);
  after(() => queryLog.close());
  const copies: { id: string; record: Buffer }[] = [];
  for (let i = 0; i < 9; i++) {
    const query = loggedQuery(`${i}`, clock.nowMs + i);
    copies.push({ id: queryLog.append(A, query) ?? '', record: encodeQuery(query) });
    await queryLog.flush();
  }
  const shadow = 9 as CollectionId;
  const held = {
    ids: new Uint8Array(Buffer.concat(copies.map(({ id }) => queryIdBytes(id)))),
    lengths: Uint32Array.from(copies, ({ record }) => record.length),
    records: new Uint8Array(Buffer.concat(copies.map(({ record }) => record))),
  };
  const live = Uint32Array.from([A, B]);
  for (let times = 0; times < 2; times++) {
    await queryLog.hold(shadow, held);
    assert.deepEqual(await queryLog.held(), [shadow]);
    await queryLog.release(shadow, B, live);
    assert.deepEqual(await queryLog.held(), []);
    const [original, copy] = [await queryLog.list(A, ALL), await queryLog.list(B, ALL)];
    assert.deepEqual(
      copy.map(({ text }) => text),
      original.map(({ text }) => text),
    );
    assert.equal(new Set([...original, ...copy].map(({ id }) => id)).size, 18);
  }
  // Restored into the log that has them, nothing is added; and the ids of a collection that is gone are free.
  await queryLog.hold(shadow, held);
  await queryLog.release(shadow, A, live);
  assert.equal((await queryLog.list(A, ALL)).length, 9);
  await queryLog.hold(shadow, held);
  await queryLog.release(shadow, 3 as CollectionId, Uint32Array.from([3]));
  const moved = await queryLog.list(3 as CollectionId, ALL);
  assert.deepEqual(
    moved.map(({ id }) => id).reverse(),
    copies.map(({ id }) => id),
  );
  assert.equal((await queryLog.get(copies[4]?.id ?? ''))?.collection, 3);
});

test('what other nodes have logged comes page by page, oldest first', async () => {
  const others = [open({}, undefined, 3), open()];
  const { queryLog } = open({}, undefined, 1, (op, read) =>
    Promise.all(others.map((other) => other.queryLog.readHere(op, read))),
  );
  after(() => Promise.all([queryLog, ...others.map((other) => other.queryLog)].map((each) => each.close())));
  const texts = Array.from({ length: 1203 }, (_, i) => `${i}`);
  for (const [i, text] of texts.entries()) {
    const { queryLog: other, clock } = others[i % 2] as Bench;
    clock.nowMs += 2;
    other.append(A, loggedQuery(text, clock.nowMs + (i % 2)));
  }
  queryLog.append(A, loggedQuery('own', Date.parse('2026-01-01T00:00:00Z')));
  const found: string[] = [];
  let pages = 0;
  for (let after: string | undefined; ; pages++) {
    const page = await queryLog.elsewhere(A, after);
    if (page.length === 0) break;
    found.push(...page.map(({ text }) => text));
    after = page.at(-1)?.id;
  }
  assert.deepEqual(found, texts);
  assert.equal(pages, 3);
  assert.deepEqual(await queryLog.elsewhere(B, undefined), []);
  const { queryLog: alone } = others[0] as Bench;
  assert.deepEqual([alone.isShared, await alone.elsewhere(A, undefined)], [false, []]);
});
