// The samples of the counters of the latest minutes.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LatencyWindow } from '../../../src/base/histogram.js';
import { MetricsHistory } from '../../../src/service/health/metrics-history.js';

const START_MS = Date.parse('2026-03-01T12:00:00Z');

function startHistory(t: TestContext, collect: () => Promise<void> = async () => undefined) {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: START_MS });
  const counts = { requests: 0, searches: 0, chunksIndexed: 0 };
  const searchLatency = new LatencyWindow();
  const metrics = { counts, searchLatency } as unknown as ConstructorParameters<typeof MetricsHistory>[0]['metrics'];
  const history = new MetricsHistory({ metrics, fronts: { collect }, nowMs: () => Date.now() });
  t.after(() => history.close());
  const after = async (seconds: number): Promise<void> => {
    for (let left = seconds; left > 0; left -= 5) {
      t.mock.timers.tick(Math.min(5, left) * 1000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { history, counts, searchLatency, after };
}

test('every five seconds a sample is kept, for five minutes, and the last one is of now', async (t) => {
  const { history, counts, searchLatency, after } = startHistory(t);
  const [startS, none] = [START_MS / 1000, { requests_total: 0, search_total: 0, chunks_indexed_total: 0 }];
  await after(5);
  Object.assign(counts, { requests: 7, searches: 3, chunksIndexed: 2 });
  for (const ms of [4, 1.23456, 3]) searchLatency.add(ms);
  await after(2);
  assert.deepEqual(history.latest(), [
    { at: startS, ...none },
    { at: startS + 5, ...none },
    {
      at: startS + 7,
      requests_total: 7,
      search_total: 3,
      chunks_indexed_total: 2,
      search_latency_p50_ms: 3,
      search_latency_p95_ms: 4,
      search_latency_p99_ms: 4,
    },
  ]);
  await after(3);
  await after(600);
  const kept = history.latest();
  assert.deepEqual([kept.length, kept[0]?.at, kept.at(-1)?.at], [61, startS + 315, startS + 610]);
});

test('where a front thread does not answer, samples have what is known', async (t) => {
  const { history, counts, after } = startHistory(t, async () => Promise.reject(new Error('the thread has died')));
  counts.requests = 5;
  await after(5);
  assert.deepEqual(
    history.latest().map(({ requests_total }) => requests_total),
    [0, 5, 5],
  );
});
