// Parsed metadata between searches: found again, for its stamp alone, and bounded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId } from '../../../src/contract/ids.js';
import { ParsedMetadata } from '../../../workers/shard/parsed-metadata.js';

const id = (value: number): CollectionId => value as CollectionId;
const entry = (stamp: number, value: unknown) => ({ stamp, layers: [{ value }], characters: 10 });

test('an entry is found under its collection, ordinal and stamp', () => {
  const parsed = new ParsedMetadata(1000);
  parsed.put(id(1), 7, entry(3, 'a'));
  assert.deepEqual(parsed.get(id(1), 7, 3), [{ value: 'a' }]);
  for (const other of [parsed.get(id(2), 7, 3), parsed.get(id(1), 8, 3), parsed.get(id(1), 7, 5)]) assert.equal(other, undefined);
  parsed.put(id(1), 7, entry(5, 'b'));
  assert.deepEqual([parsed.get(id(1), 7, 5), parsed.get(id(1), 7, 3)], [[{ value: 'b' }], undefined]);
});

test('what is asked for stays, the rest goes, and never more than two generations are held', () => {
  const parsed = new ParsedMetadata(100);
  parsed.put(id(1), 0, entry(1, 'asked for'));
  for (let ordinal = 1; ordinal <= 100; ordinal++) {
    parsed.put(id(1), ordinal, entry(1, ordinal));
    assert.ok(parsed.get(id(1), 0, 1), `still there after ${ordinal}`);
  }
  const held = Array.from({ length: 101 }, (_, ordinal) => parsed.get(id(1), ordinal, 1)).filter(Boolean);
  assert.ok(held.length >= 5 && held.length <= 20, `${held.length} held`);
});
