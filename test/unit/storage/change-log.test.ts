// The change log in a shard's store: what it returns after a restart, how it is trimmed, and that it stops rather than
// grow without limit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId, Ordinal } from '../../../src/api/ids.js';
import { CHANGES_BYTES_MAX, type SegmentChange } from '../../../src/storage/change-log.js';
import { Environment } from '../../../src/storage/lmdb.js';
import { ShardStore } from '../../../src/storage/shard-store.js';
import { SHARD_TABLES } from '../../../src/storage/shard-reader.js';
import { tempDirectory } from '../../kit/temp.js';

const change = (ordinal: number, text: string | null = null): SegmentChange => ({
  id: 7 as CollectionId,
  removed: [ordinal as Ordinal],
  texts: [text],
  terms: null,
  added: [(ordinal + 1) as Ordinal],
});

const commit = (store: ShardStore, ...changes: SegmentChange[]): void =>
  store.write((txn) => void txn.segmentChanges.push(...changes));

test('nothing is recorded before the log has been started', () => {
  const store = ShardStore.open(tempDirectory(), false);
  commit(store, change(1));
  assert.deepEqual(store.changes.after(0), []);
  assert.equal(store.changes.state.id, undefined);
});

test('changes are returned in order, in this process and the next', () => {
  const directory = tempDirectory();
  const store = ShardStore.open(directory, false);
  store.changes.begin();
  for (let ordinal = 0; ordinal < 300; ordinal += 2)
    commit(store, change(ordinal, `text ${ordinal}`), change(1000 + ordinal));
  const { id, last } = store.changes.state;
  assert.equal(last, 150);
  const all = store.changes.after(0);
  assert.deepEqual(
    all.map(({ removed }) => removed[0]),
    Array.from({ length: 150 }, (_, i) => [2 * i, 1000 + 2 * i]).flat(),
  );
  assert.deepEqual(store.changes.after(149), [change(298, 'text 298'), change(1298)]);
  store.close();
  const again = ShardStore.open(directory, false);
  assert.deepEqual([again.changes.state.id, again.changes.state.last, again.changes.after(0)], [id, last, all]);
});

test('a transaction that is aborted, or changes nothing, has no record', () => {
  const store = ShardStore.open(tempDirectory(), false);
  store.changes.begin();
  assert.throws(
    () =>
      store.write((txn) => {
        txn.segmentChanges.push(change(1));
        throw new Error('no');
      }),
    /no/,
  );
  commit(store);
  assert.deepEqual([store.changes.state.last, store.changes.after(0)], [0, []]);
});

test('later commits trim what a checkpoint covers, and numbers continue', () => {
  const directory = tempDirectory();
  const store = ShardStore.open(directory, false);
  store.changes.begin();
  for (let ordinal = 0; ordinal < 50; ordinal++) commit(store, change(ordinal));
  store.changes.trim(store.changes.state);
  assert.equal(store.changes.state.bytes, 0);
  for (let ordinal = 50; ordinal < 60; ordinal++) commit(store, change(ordinal));
  assert.deepEqual(
    store.changes.after(50).map(({ removed }) => removed[0]),
    Array.from({ length: 10 }, (_, i) => 50 + i),
  );
  assert.throws(() => store.changes.after(10), /some after 10 are missing/);
  store.close();
  assert.equal(ShardStore.open(directory, false).changes.state.last, 60);
});

test('a log ends rather than grow beyond its limit, and the next log is another one', () => {
  const store = ShardStore.open(tempDirectory(), false);
  store.changes.begin();
  const { id } = store.changes.state;
  const text = 'x'.repeat(2 ** 20);
  for (let i = 0; i <= CHANGES_BYTES_MAX / 2 ** 20; i++) commit(store, change(i, text));
  const { last } = store.changes.state;
  assert.deepEqual([store.changes.state.id, store.changes.after(last)], [undefined, []]);
  commit(store, change(1));
  store.changes.begin();
  commit(store, change(2));
  assert.notEqual(store.changes.state.id, id);
  assert.deepEqual(store.changes.after(last), [change(2)]);
});

test('a log that has just been started continues from its number after a restart', () => {
  const directory = tempDirectory();
  const store = ShardStore.open(directory, false);
  store.changes.begin();
  commit(store, change(1));
  store.changes.end();
  store.changes.begin();
  const { state } = store.changes;
  store.close();
  assert.deepEqual([state.last, ShardStore.open(directory, false).changes.state.last], [1, 1]);
});

test('a log with a damaged header counts as none, and the next one starts anew', () => {
  const directory = tempDirectory();
  const store = ShardStore.open(directory, false);
  store.changes.begin();
  for (let ordinal = 0; ordinal < 5; ordinal++) commit(store, change(ordinal));
  store.close();
  const env = Environment.open(directory, SHARD_TABLES, false);
  env.write(({ changes }) => changes.put(Buffer.from('head'), Buffer.from('bad')));
  env.close();
  const again = ShardStore.open(directory, false);
  assert.equal(again.changes.state.id, undefined);
  again.changes.begin();
  commit(again, change(7));
  assert.deepEqual(again.changes.after(0), [change(7)]);
});
