// Rendezvous hashing: how evenly keys are shared, and what moves when members join or leave.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdersOf } from '../../../src/base/rendezvous.js';

const KEYS = Array.from({ length: 4000 }, (_, i) => i + 1);
const members = (count: number): string[] => Array.from({ length: count }, (_, i) => `node-${i}`);

test('every member has about as many keys as any other, at every place', () => {
  for (const count of [2, 3, 5, 8])
    for (const place of [0, 1]) {
      const held = new Map<string, number>();
      for (const key of KEYS) {
        const holder = holdersOf(key, members(count), 2)[place] as string;
        held.set(holder, (held.get(holder) ?? 0) + 1);
      }
      const fair = KEYS.length / count;
      for (const [member, keys] of held)
        assert.ok(Math.abs(keys - fair) < 0.15 * fair, `${member} of ${count} has ${keys}`);
      assert.equal(held.size, count);
    }
});

test('a member that leaves moves only its keys, and the order in which members are known does not matter', () => {
  const all = members(5);
  const [gone] = all as [string];
  const left = all.slice(1);
  for (const key of KEYS) {
    const before = holdersOf(key, all, 2);
    assert.deepEqual(holdersOf(key, [...all].reverse(), 2), before);
    assert.deepEqual(holdersOf(key, left, 2).slice(0, 1), before.filter((member) => member !== gone).slice(0, 1));
    if (!before.includes(gone)) assert.deepEqual(holdersOf(key, left, 2), before);
  }
});

test('fewer members than copies hold every key', () => {
  assert.deepEqual(holdersOf(7, [], 2), []);
  assert.deepEqual(holdersOf(7, ['a'], 2), ['a']);
  assert.deepEqual(holdersOf(7, ['b', 'a'], 3).sort(), ['a', 'b']);
});
