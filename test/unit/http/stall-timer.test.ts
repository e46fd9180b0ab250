// The timer of request bodies that stop or trickle.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StallTimer } from '../../../src/http/body-source.js';

test('only waiting counts, and only until enough has come', () => {
  const clock = new StallTimer();
  assert.equal(clock.stalledMs(1000), 0);
  clock.begin(1000);
  assert.equal(clock.stalledMs(1500), 500);
  clock.count(1, 1600);
  assert.equal(clock.stalledMs(9000), 600);
  clock.begin(9000);
  clock.count(1022, 9100);
  assert.equal(clock.stalledMs(9999), 700);
  clock.begin(10_000);
  clock.count(1, 10_300);
  assert.equal(clock.stalledMs(20_000), 0);
});

test('an excused body starts anew', () => {
  const clock = new StallTimer();
  clock.begin(0);
  clock.count(1, 900);
  clock.begin(1000);
  clock.excuse(1900);
  assert.equal(clock.stalledMs(2000), 100);
  clock.count(1, 2100);
  clock.excuse(5000);
  assert.equal(clock.stalledMs(6000), 0);
});
