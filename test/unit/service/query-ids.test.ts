// Query ids grow, even when the clock goes back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrowingIds, asUuid } from '../../../src/base/uuids.js';

test('ids are in the order they were made, within a millisecond and with the clock set back', () => {
  const ids = new GrowingIds();
  const times = [...Array.from({ length: 600 }, () => 5000), 4000, 4000, 5001, 1, 5002];
  const made = times.map((ms) => ids.next(ms));
  assert.deepEqual([...made].sort(), made);
  assert.equal(new Set(made).size, made.length);
  for (const id of made) assert.equal(asUuid(id.toUpperCase()), id);
});

test('two servers make other ids at the same time', () => {
  assert.notEqual(new GrowingIds().next(5000), new GrowingIds().next(5000));
});

test('what is no UUID is no id', () => {
  for (const text of ['', 'x', '01a1fd3efa5477028c4db6b9e71fa897', '01a1fd3e-fa54-7702-8c4d-b6b9e71fa897\n'])
    assert.equal(asUuid(text), undefined);
});
