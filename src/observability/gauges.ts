// Metrics of the worker pools, as the pools count them, and of the process: what waits for the worker threads, in which
// pool and kind of queue, how busy the threads are, and what Node tells of itself. Front thread.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Registry as ProcessRegistry, collectDefaultMetrics } from 'prom-client';
import type { PoolMetrics, PoolUse } from '../pool/pool-metrics.js';
import type { CountedBuckets, Registry } from './prometheus.js';

/** Of the HTTP server. */
export function registerRequests(
  registry: Registry,
  http: { readonly underWay: number; readonly heldBytes: number },
): void {
  registry.gauge(
    'sheaf_requests_under_way',
    'Requests whose reply is not out yet, or whose work goes on.',
    () => http.underWay,
  );
  registry.gauge('sheaf_request_bodies_bytes', 'Bytes of bodies in memory.', () => http.heldBytes);
}

export function registerPools(registry: Registry, pools: PoolMetrics): void {
  const labels = ['pool', 'lane'];
  registry.gauges('sheaf_queue_waiting', 'Requests that wait for a worker of the pool.', labels, () =>
    Array.from(pools.queues(), ({ pool, name, waiting }) => [[pool, name], waiting]),
  );
  const counted = (of: 'waits' | 'messages'): CountedBuckets[] =>
    Array.from(pools.queues(), ({ pool, name, [of]: { bounds, counts, sum } }) => ({
      labels: [pool, name],
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
  registry.histograms(
    'sheaf_queue_message_requests',
    'Requests that travelled to a worker in one message: the size of its batch.',
    labels,
    () => counted('messages'),
  );
  const sums = (of: (use: PoolUse) => number): Iterable<[string[], number]> => {
    const byPool = new Map<string, number>();
    for (const use of pools.uses()) byPool.set(use.pool, (byPool.get(use.pool) ?? 0) + of(use));
    return Array.from(byPool, ([pool, sum]) => [[pool], sum]);
  };
  registry.gauges('sheaf_pool_threads', 'Threads of the pool.', ['pool'], () => sums(({ threads }) => threads));
  registry.counters(
    'sheaf_pool_busy_seconds_total',
    'Time that the threads of the pool have worked, added up; of threads that died nothing is left.',
    ['pool'],
    () => sums(({ busyMs }) => busyMs / 1000),
  );
}

/** How often the delay is looked at; every value has this time in it. */
const LAG_RESOLUTION_MS = 10;
/** The library's own watch, which nobody reads, wakes once an hour. */
const NEVER_MS = 3_600_000;
const LAG = 'nodejs_eventloop_lag';

/**
 * What prom-client tells of every Node process, but for the lag of the event loop: its mean and deviation walk a table
 * of 33,000 places each, a millisecond of the thread whose lag they tell (node dist/load/main.js http observability).
 */
export function processMetrics(): () => AsyncGenerator<string> {
  const registry = new ProcessRegistry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  return async function* () {
    for (const name of names) if (!name.startsWith(LAG)) yield await registry.getSingleMetricAsString(name);
  };
}

/** The lag since the scrape before, without its mean and deviation; where nothing was looked at since, as it was. */
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
  // This one is read first.
  registry.gauge(`${LAG}_seconds`, 'Lag of event loop in seconds.', () => (look(), lagS));
  const gauge = (of: keyof typeof told, help: string): void =>
    registry.gauge(`${LAG}_${of}_seconds`, help, () => told[of] / 1e9);
  gauge('min', 'The minimum recorded event loop delay.');
  gauge('max', 'The maximum recorded event loop delay.');
  gauge('p50', 'The 50th percentile of the recorded event loop delays.');
  gauge('p90', 'The 90th percentile of the recorded event loop delays.');
  gauge('p99', 'The 99th percentile of the recorded event loop delays.');
}
