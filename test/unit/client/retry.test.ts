// The waits between retries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRejection, retryWaitMs, WAIT_MAX_MS } from '../../../src/client/transport.js';

test('only 429 and 503 are errors for the client', () => {
  assert.deepEqual([200, 400, 404, 409, 429, 500, 502, 503, 504].filter(isRejection), [429, 503]);
});

test('Retry-After in seconds is honoured', () => {
  assert.equal(retryWaitMs(0, '2', 0, 0), 2000);
  assert.equal(retryWaitMs(4, ' 1 ', 0, 0), 1000);
  assert.equal(retryWaitMs(0, '0', 0, 0.9), 0);
});

test('Retry-After as a date is honoured', () => {
  const nowMs = Date.parse('2026-01-01T00:00:00Z');
  assert.equal(retryWaitMs(0, 'Thu, 01 Jan 2026 00:00:03 GMT', nowMs, 0), 3000);
  assert.equal(retryWaitMs(0, 'Wed, 31 Dec 2025 00:00:00 GMT', nowMs, 0), 0);
});

test('without it, or with one that means nothing, the wait doubles', () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((attempt) => retryWaitMs(attempt, null, 0, 0)),
    [250, 500, 1000, 2000],
  );
  assert.equal(retryWaitMs(1, 'soon', 0, 0), 500);
});

test('jitter adds up to a quarter, and no wait is over the limit', () => {
  assert.equal(retryWaitMs(0, '1', 0, 0.5), 1125);
  assert.equal(retryWaitMs(0, '86400', 0, 0.5), WAIT_MAX_MS);
  assert.equal(retryWaitMs(30, null, 0, 0), WAIT_MAX_MS);
});
