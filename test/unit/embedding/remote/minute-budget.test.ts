// Budgets by the minute hold in every window of a minute, whenever they are spent, and nearly all of a budget can be
// used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { MinuteBudget } from '../../../../src/embedding/remote/rate-limiter.js';

interface Spend {
  ms: number;
  amount: number;
}

/** Spends as soon as the budget allows, after random pauses; amounts up to `largest`. */
function spendFor(minutes: number, perMinute: number, largest: number | undefined, seed: number): Spend[] {
  const prng = createPrng(seed);
  const budget = new MinuteBudget(perMinute, 0, largest);
  const spends: Spend[] = [];
  for (let ms = 0; ms < minutes * 60_000; ) {
    const waitMs = budget.msUntilOpen(ms);
    ms += waitMs;
    if (prng.int(4 * perMinute) === 0) ms += prng.int(90_000);
    if (budget.msUntilOpen(ms) > 0) continue;
    const amount = 1 + prng.int(largest ?? budget.capacity);
    budget.spend(amount);
    spends.push({ ms, amount });
  }
  return spends;
}

function mostInAMinute(spends: readonly Spend[]): number {
  let [most, sum, from] = [0, 0, 0];
  for (const { ms, amount } of spends) {
    sum += amount;
    while ((spends[from] as Spend).ms <= ms - 60_000) sum -= (spends[from++] as Spend).amount;
    most = Math.max(most, sum);
  }
  return most;
}

for (const perMinute of [1, 2, 7, 60, 3000]) {
  test(`${perMinute} requests a minute are never more in any minute`, () => {
    const spends = spendFor(30, perMinute, 1, perMinute);
    assert.ok(mostInAMinute(spends) <= perMinute, `${mostInAMinute(spends)}`);
    assert.ok(spends.length >= 20 * perMinute, `${spends.length} in thirty minutes with pauses`);
  });
}

for (const perMinute of [1, 40, 1000, 1_000_000]) {
  test(`${perMinute} tokens a minute are never more in any minute, in calls of any size up to the capacity`, () => {
    const spends = spendFor(30, perMinute, undefined, perMinute);
    assert.ok(mostInAMinute(spends) <= perMinute, `${mostInAMinute(spends)}`);
  });
}

test('what turned out not to be spent can be spent', () => {
  const budget = new MinuteBudget(1000, 0);
  budget.spend(500);
  assert.ok(budget.msUntilOpen(0) > 0);
  budget.spend(-460);
  assert.equal(budget.msUntilOpen(0), 0);
});
