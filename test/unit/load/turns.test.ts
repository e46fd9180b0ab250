// Interleaved runs of two servers: how much more a request costs one of them, between bounds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moreThan, type Cost } from '../../../load/kit/interleaved-runs.js';
import { createPrng } from '../../../src/base/prng.js';

const costs = (values: readonly number[]): Cost[] => values.map((us) => ({ frontUs: us, allUs: 2 * us }));

test('a small difference is found below noise that falls on both and noise that falls on one, and outliers move nothing', () => {
  const prng = createPrng(7);
  const machine = Array.from({ length: 400 }, () => 100 * (1 + prng.next()));
  const dear = machine.map((us) => us * 1.05 * (1 + (prng.next() - 0.5) * 0.2) * (prng.int(20) === 0 ? 10 : 1));
  const { median, low, high } = moreThan(costs(machine), costs(dear), 'allUs');
  assert.ok(
    low < 0.05 && 0.05 < high && low < median && median < high && high - low < 0.04,
    JSON.stringify({ low, median, high }),
  );
  assert.ok(low > 0);
});

test('the bounds of a few rounds are their extremes', () => {
  const few = costs([100, 100, 100]);
  assert.deepEqual(moreThan(few, costs([200, 125, 150]), 'frontUs'), { median: 0.5, low: 0.25, high: 1 });
});
