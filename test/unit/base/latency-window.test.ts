// Percentiles of the latest latencies, compared with a sorted list.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatencyWindow } from '../../../src/base/histogram.js';
import { createPrng } from '../../../src/base/prng.js';

test('without a latency there is no percentile', () => {
  const window = new LatencyWindow();
  assert.deepEqual([window.quantiles(0.5), window.count], [undefined, 0]);
});

test('percentiles are those of the latest 2,048, by the nearest rank', () => {
  const seed = 5;
  const prng = createPrng(seed);
  const window = new LatencyWindow();
  const all: number[] = [];
  for (const count of [1, 3, 100, 2000, 5000]) {
    while (all.length < count) {
      all.push(prng.next() * 100);
      window.add(all.at(-1) as number);
    }
    const latest = all.slice(-2048).sort((a, b) => a - b);
    const rank = (q: number): number => latest[Math.ceil(q * latest.length) - 1] as number;
    assert.deepEqual(
      window.quantiles(0.5, 0.95, 0.99),
      [rank(0.5), rank(0.95), rank(0.99)],
      `count ${count}, seed ${seed}`,
    );
    assert.equal(window.count, count);
  }
  window.reset();
  assert.equal(window.quantiles(0.5), undefined);
});
