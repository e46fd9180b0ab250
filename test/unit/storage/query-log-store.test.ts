// The store of the query log: newest first, one entry for each id, limits by count, bytes and age that are enforced in
// bounded steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId } from '../../../src/api/ids.js';
import { type LogEntry, QueryLogStore } from '../../../src/storage/query-log.js';
import { encodeQuery, queryIdBytes } from '../../../src/storage/query-log-records.js';
import { GrowingIds } from '../../../src/base/uuids.js';
import { tempDirectory } from '../../kit/temp.js';
import { loggedQuery } from '../../kit/records.js';

const A = 7 as CollectionId;
const B = 8 as CollectionId;
const UNBOUNDED = { entriesMax: Infinity, bytesMax: Infinity };
const ids = new GrowingIds();
const open = (): QueryLogStore => QueryLogStore.open(tempDirectory(), false);

function entry(collection: CollectionId, text: string, atMs = 1000): LogEntry {
  const record = encodeQuery(loggedQuery(text, atMs));
  return { collection, id: queryIdBytes(ids.next(atMs)), record };
}

const texts = (store: QueryLogStore, collection: CollectionId, oldestMs = 0): string[] =>
  store.list({ collection, oldestMs }, 1000).map(({ text }) => text);
const numbered = (collection: CollectionId, count: number): LogEntry[] =>
  Array.from({ length: count }, (_, i) => entry(collection, String(i)));

test('each collection has its own entries, newest first', () => {
  const store = open();
  store.append([entry(A, 'a1'), entry(B, 'b1'), entry(A, 'a2')], UNBOUNDED);
  store.append([entry(A, 'a3')], UNBOUNDED);
  assert.deepEqual(
    [texts(store, A), texts(store, B), texts(store, 6 as CollectionId)],
    [['a3', 'a2', 'a1'], ['b1'], []],
  );
  assert.deepEqual(store.collections(), [A, B]);
  const [, middle] = store.list({ collection: A, oldestMs: 0 }, 2);
  assert.deepEqual(
    store.list({ collection: A, oldestMs: 0, before: middle?.id ?? '' }, 9).map(({ text }) => text),
    ['a1'],
  );
  store.close();
});

test('an entry that comes twice is there once', () => {
  const store = open();
  const twice = entry(A, 'twice');
  store.append([twice], UNBOUNDED);
  store.append([twice, entry(A, 'other')], UNBOUNDED);
  assert.deepEqual([texts(store, A), store.size(A).entries], [['other', 'twice'], 2]);
  store.close();
});

test('an append beyond the count limit removes the oldest entry', () => {
  const store = open();
  for (const one of numbered(A, 20)) store.append([one], { entriesMax: 5, bytesMax: Infinity });
  assert.deepEqual(texts(store, A), ['19', '18', '17', '16', '15']);
  assert.equal(store.size(A).entries, 5);
  store.close();
});

test('an append beyond the byte limit removes the oldest entries, and the size follows', () => {
  const store = open();
  const entries = numbered(A, 30);
  const each = entries[29]?.record.length ?? 0;
  store.append(entries, { entriesMax: Infinity, bytesMax: each * 4 });
  assert.deepEqual(texts(store, A), ['29', '28', '27', '26']);
  assert.deepEqual(store.size(A), { entries: 4, bytes: each * 4 });
  store.close();
});

test('a lowered limit is reached in bounded steps', () => {
  const store = open();
  store.append(numbered(A, 1000), UNBOUNDED);
  const bounds = { entriesMax: 10, bytesMax: Infinity };
  assert.equal(store.isOver(A, bounds, 0), true);
  assert.deepEqual(
    [1, 2, 3].map(() => store.trim(A, bounds, 0, 400)),
    [400, 400, 190],
  );
  assert.deepEqual([store.size(A).entries, store.isOver(A, bounds, 0), store.trim(A, bounds, 0, 400)], [10, false, 0]);
  store.close();
});

test('entries that are too old are hidden, and a trim removes them and their space', () => {
  const store = open();
  store.append([entry(A, 'old', 2000), entry(A, 'new', 3000)], UNBOUNDED);
  const [, found] = store.list({ collection: A, oldestMs: 0 }, 2);
  assert.deepEqual([texts(store, A, 2000), texts(store, A, 2001)], [['new', 'old'], ['new']]);
  assert.deepEqual([store.get(found?.id ?? '', 2000)?.text, store.get(found?.id ?? '', 2001)], ['old', undefined]);
  assert.deepEqual([store.isOver(A, UNBOUNDED, 2000), store.isOver(A, UNBOUNDED, 2001)], [false, true]);
  assert.equal(store.trim(A, UNBOUNDED, 2001, 10), 1);
  assert.deepEqual([store.get(found?.id ?? '', 0), store.size(A).entries], [undefined, 1]);
  store.trim(A, UNBOUNDED, 9999, 10);
  assert.deepEqual(store.collections(), [], 'a log without entries is none');
  store.close();
});
