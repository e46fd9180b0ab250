// Metrics that are read at each scrape: worker pools (waiting requests, wait times, message sizes, busy threads), HTTP
// requests in progress, and Node's process metrics. Runs on the main thread.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Registry as ProcessRegistry, collectDefaultMetrics } from 'prom-client';
import type { PoolMetrics, PoolUse } from '../pool/pool-metrics.js';
import type { CountedBuckets, Registry } from './prometheus.js';

/** Gauges of the HTTP server. */
export function registerRequests(
  registry: Registry,
  http: { readonly underWay: number; readonly heldBytes: number },
): void {
  registry.gauge(
    'sheaf_requests_under_way',
    'Requests in progress: the reply is not complete, or work for it continues.',
    () => http.underWay,
  );
  registry.gauge('sheaf_request_bodies_bytes', 'Bytes of request bodies in memory.', () => http.heldBytes);
}

export function registerPools(registry: Registry, pools: PoolMetrics): void {
  // `lane` is the name that `queue` had in earlier releases; it is removed in release 0.11.0.
  const labels = ['pool', 'queue', 'lane'];
  registry.gauges('sheaf_queue_waiting', 'Requests that wait for a worker of the pool.', labels, () =>
    Array.from(pools.queues(), ({ pool, name, waiting }) => [[pool, name, name], waiting]),
  );
  const counted = (of: 'waits' | 'messages'): CountedBuckets[] =>
    Array.from(pools.queues(), ({ pool, name, [of]: { bounds, counts, sum } }) => ({
      labels: [pool, name, name],
      bounds,
      counts,
      sum,
    }));
  registry.histograms(
    'sheaf_queue_wait_seconds',
    'How long requests waited before they were sent to a worker.',
    labels,
    () => counted('waits'),
  );
  registry.histograms('sheaf_queue_message_requests', 'Number of requests in a message to a worker.', labels, () =>
    counted('messages'),
  );
  const sums = (of: (use: PoolUse) => number): Iterable<[string[], number]> => {
    const byPool = new Map<string, number>();
    for (const use of pools.uses()) byPool.set(use.pool, (byPool.get(use.pool) ?? 0) + of(use));
    return Array.from(byPool, ([pool, sum]) => [[pool], sum]);
  };
  registry.gauges('sheaf_pool_threads', 'Threads of the pool.', ['pool'], () => sums(({ threads }) => threads));
  registry.counters(
    'sheaf_pool_busy_seconds_total',
    'Busy time of the current threads of the pool, summed; the time of threads that died is not included.',
    ['pool'],
    () => sums(({ busyMs }) => busyMs / 1000),
  );
}

/** Sampling interval of the event loop delay; every value includes it. */
const LAG_RESOLUTION_MS = 10;
/** Interval of prom-client's own delay monitor, which is not used: once an hour. */
const NEVER_MS = 3_600_000;
const LAG = 'nodejs_eventloop_lag';

/**
 * The default metrics of prom-client, without the event loop lag: computing its mean and deviation iterates over 33,000
 * buckets each, which takes a millisecond of the very thread that is measured (node dist/load/main.js http
 * observability).
 */
export function processMetrics(): () => AsyncGenerator<string> {
  const registry = new ProcessRegistry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  return async function* () {
    for (const name of names) if (!name.startsWith(LAG)) yield await registry.getSingleMetricAsString(name);
  };
}

/**
 * The event loop lag since the previous scrape, without mean and deviation; if nothing was sampled since, the previous
 * values.
 */
export function registerLag(registry: Registry): void {
  const delays = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  delays.enable();
  let lagS = 0;
  let told = { min: 0, max: 0, p50: 0, p90: 0, p99: 0 };
  const look = (): void => {
    const startedAtMs = performance.now();
    setImmediate(() => (lagS = (performance.now() - startedAtMs) / 1000));
    if (delays.count === 0) return;
    const [p50, p90, p99] = [50, 90, 99].map((percent) => delays.percentile(percent)) as [number, number, number];
    told = { min: delays.min, max: delays.max, p50, p90, p99 };
    delays.reset();
  };
  // This gauge is read first, so it takes the samples for the others.
  registry.gauge(`${LAG}_seconds`, 'Lag of event loop in seconds.', () => (look(), lagS));
  const gauge = (of: keyof typeof told, help: string): void =>
    registry.gauge(`${LAG}_${of}_seconds`, help, () => told[of] / 1e9);
  gauge('min', 'The minimum recorded event loop delay.');
  gauge('max', 'The maximum recorded event loop delay.');
  gauge('p50', 'The 50th percentile of the recorded event loop delays.');
  gauge('p90', 'The 90th percentile of the recorded event loop delays.');
  gauge('p99', 'The 99th percentile of the recorded event loop delays.');
}
