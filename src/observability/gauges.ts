// What waits for the worker threads, in which pool and kind of lane, and how busy the threads are, as the pools count
// it. Part of the metrics (metrics-report.ts); front thread.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry, collectDefaultMetrics } from 'prom-client';
import type { PoolMetrics, QueueMetrics } from '../pool/pool-metrics.js';
import { type CountedBuckets, lookedUpHistogram } from './prometheus.js';

export function lookUpQueues(registry: Registry, pools: PoolMetrics): void {
  const labelNames = ['pool', 'lane'] as const;
  new Gauge({
    name: 'sheaf_queue_waiting',
    help: 'Requests that wait for a worker of the pool.',
    labelNames,
    registers: [registry],
    collect() {
      for (const { pool, name, waiting } of pools.queues()) this.set({ pool, lane: name }, waiting);
    },
  });
  lookedUpHistogram(
    registry,
    {
      name: 'sheaf_queue_wait_seconds',
      help: 'How long requests waited before they were sent to a worker.',
      labelNames,
    },
    () => Array.from(pools.queues(), (queue) => counted(queue, 'waits')),
  );
  lookedUpHistogram(
    registry,
    {
      name: 'sheaf_queue_message_requests',
      help: 'Requests that travelled to a worker in one message: the size of its batch.',
      labelNames,
    },
    () => Array.from(pools.queues(), (queue) => counted(queue, 'messages')),
  );
  lookUpThreads(registry, pools);
}

function counted(queue: QueueMetrics, what: 'waits' | 'messages'): CountedBuckets {
  const { bounds, counts, sum } = queue[what];
  return { labels: { pool: queue.pool, lane: queue.name }, bounds, counts, sum };
}

function lookUpThreads(registry: Registry, pools: PoolMetrics): void {
  const common = { labelNames: ['pool'] as const, registers: [registry] };
  new Gauge({
    ...common,
    name: 'sheaf_pool_threads',
    help: 'Threads of the pool.',
    collect() {
      this.reset();
      for (const { pool, threads } of pools.uses()) this.inc({ pool }, threads);
    },
  });
  new Counter({
    ...common,
    name: 'sheaf_pool_busy_seconds_total',
    help: 'Time that the threads of the pool have worked, added up; of threads that died nothing is left.',
    collect() {
      this.reset();
      for (const { pool, busyMs } of pools.uses()) this.inc({ pool }, busyMs / 1000);
    },
  });
}

// What the metrics library tells of every Node process, but for the lag of the event loop: its mean and deviation walk
// a table of 33,000 places each, a millisecond of the thread whose lag they tell (node dist/load/observability.js). The
// same gauges are here without those two. Part of the metrics (metrics-report.ts); front thread.

/** How often the delay is looked at; every value has this time in it. */
const LAG_RESOLUTION_MS = 10;
/** The library's own watch, which nobody reads, wakes once an hour. */
const NEVER_MS = 3_600_000;
const ITS_LAG = ['', '_min', '_max', '_mean', '_stddev', '_p50', '_p90', '_p99'].map(
  (which) => `nodejs_eventloop_lag${which}_seconds`,
);

export function lookUpProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  for (const name of ITS_LAG) registry.removeSingleMetric(name);
  lookUpLag(registry);
}

/** Of the time since the scrape before; where nothing was looked at since, what it told stands. */
function lookUpLag(registry: Registry): void {
  const delays = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  delays.enable();
  const gauge = (which: string, help: string, collect?: (this: Gauge) => void): Gauge =>
    new Gauge({
      name: `nodejs_eventloop_lag${which}_seconds`,
      help,
      registers: [registry],
      ...(collect && { collect }),
    });
  // The first one is looked up before the text of the others is made.
  gauge('', 'Lag of event loop in seconds.', function () {
    const startedAtMs = performance.now();
    setImmediate(() => this.set((performance.now() - startedAtMs) / 1000));
    if (delays.count === 0) return;
    for (const [of, read] of told) of.set(read() / 1e9);
    delays.reset();
  });
  const told: readonly (readonly [Gauge, () => number])[] = [
    [gauge('_min', 'The minimum recorded event loop delay.'), () => delays.min],
    [gauge('_max', 'The maximum recorded event loop delay.'), () => delays.max],
    [gauge('_p50', 'The 50th percentile of the recorded event loop delays.'), () => delays.percentile(50)],
    [gauge('_p90', 'The 90th percentile of the recorded event loop delays.'), () => delays.percentile(90)],
    [gauge('_p99', 'The 99th percentile of the recorded event loop delays.'), () => delays.percentile(99)],
  ];
}
