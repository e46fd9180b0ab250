// Free ordinals, compared with a naive version that searches from zero.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { Ordinal } from '../../../src/api/ids.js';
import { OrdinalPool } from '../../../src/engine/segments/segment.js';

test('always hands out the lowest free ordinal', () => {
  const seed = 7;
  const prng = createPrng(seed);
  const pool = new OrdinalPool();
  const taken = new Set<number>();
  for (let step = 0; step < 5000; step++) {
    if (prng.next() < 0.6 || taken.size === 0) {
      let lowest = 0;
      while (taken.has(lowest)) lowest++;
      assert.equal(pool.take(), lowest, `seed ${seed} step ${step}`);
      taken.add(lowest);
    } else {
      const victim = [...taken][prng.int(taken.size)] as Ordinal;
      taken.delete(victim);
      pool.release(victim);
    }
  }
});

test('ordinals claimed from the store are not handed out', () => {
  const pool = new OrdinalPool();
  for (const ordinal of [0, 1, 3, 5000]) pool.markTaken(ordinal as Ordinal);
  assert.deepEqual([pool.take(), pool.take()], [2, 4]);
});
