// The recall of one search, on examples counted by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recalled } from '../../../src/ranking/top-k.js';

const hits = (text: string): { id: string; score: number }[] =>
  text
    .split(' ')
    .filter(Boolean)
    .map((hit) => ({ id: hit.slice(0, 1), score: Number(hit.slice(1)) }));

test('a hit counts if it is one of the true nearest', () => {
  assert.deepEqual(recalled(hits('a9 c7 x5'), hits('a9 b8 c7'), 3), { found: 2, wanted: 3 });
  assert.deepEqual(recalled([], hits('a9 b8 c7'), 3), { found: 0, wanted: 3 });
});

test('of equal scores any counts, and none twice', () => {
  assert.deepEqual(recalled(hits('a9 x7 y7'), hits('a9 b7 c7'), 3), { found: 3, wanted: 3 });
  assert.deepEqual(recalled(hits('a9 b7 c7'), hits('a9 b7 c7 d7'), 2), { found: 2, wanted: 2 });
  assert.deepEqual(recalled(hits('a7 x7 y7'), hits('a9 b7'), 2), { found: 2, wanted: 2 });
});

test('where there are fewer than k rows, all count; without rows there is no recall', () => {
  assert.deepEqual(recalled(hits('a9'), hits('a9 b8'), 10), { found: 1, wanted: 2 });
  assert.deepEqual(recalled(hits('a9 b8 z8'), hits('a9 b8'), 10), { found: 2, wanted: 2 });
  assert.deepEqual(recalled([], [], 10), { found: 0, wanted: 0 });
});
