// How many of the k best hits one part of the rows is expected to have: bounds, and the promise that chance rarely
// breaks them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { hitsIn } from '../../../src/ranking/top-k.js';

test('a part is expected to have at most k hits, and all of them where it is the whole', () => {
  for (const k of [1, 2, 10, 100]) {
    assert.equal(hitsIn(k, 1), k);
    assert.equal(hitsIn(k, 0), 0);
    for (let share = 0.05, before = 0; share <= 1; share += 0.05) {
      const hits = hitsIn(k, share);
      assert.ok(
        hits <= k && hits >= Math.floor(k * share) && hits >= Math.min(before, k - 1),
        `k ${k}, share ${share}: ${hits}`,
      );
      before = hits;
    }
  }
});

test('where rows are spread at random, few searches have more hits in a part than expected', () => {
  const prng = createPrng(5);
  for (const [k, share] of [
    [10, 0.5],
    [10, 0.25],
    [10, 0.125],
    [100, 0.5],
    [100, 0.1],
  ] as const) {
    const bound = hitsIn(k, share);
    let beyond = 0;
    for (let search = 0; search < 5000; search++) {
      let hits = 0;
      for (let i = 0; i < k; i++) if (prng.next() < share) hits++;
      if (hits > bound) beyond++;
    }
    assert.ok(beyond < 5000 * 0.02, `k ${k}, share ${share}: ${beyond} of 5000 beyond ${bound}`);
  }
});
