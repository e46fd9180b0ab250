// What waits for the worker threads, in which pool and kind of lane, and how busy the threads are, as the pools count
// it. Part of the metrics (metrics-report.ts); front thread.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { LaneMeter, PoolMeters } from '../pool/pool-meters.js';
import { lookedUpHistogram, type CountedBuckets } from './metrics-histograms.js';

export function lookUpQueues(registry: Registry, meters: PoolMeters): void {
  const labelNames = ['pool', 'lane'] as const;
  new Gauge({
    name: 'sheaf_queue_waiting',
    help: 'Requests that wait for a worker of the pool.',
    labelNames,
    registers: [registry],
    collect() {
      for (const { pool, lane, waiting } of meters.lanes()) this.set({ pool, lane }, waiting);
    },
  });
  lookedUpHistogram(
    registry,
    {
      name: 'sheaf_queue_wait_seconds',
      help: 'How long requests waited before they were sent to a worker.',
      labelNames,
    },
    () => Array.from(meters.lanes(), (meter) => counted(meter, 'waits')),
  );
  lookedUpHistogram(
    registry,
    {
      name: 'sheaf_queue_message_requests',
      help: 'Requests that travelled to a worker in one message: the size of its batch.',
      labelNames,
    },
    () => Array.from(meters.lanes(), (meter) => counted(meter, 'messages')),
  );
  lookUpThreads(registry, meters);
}

function counted(meter: LaneMeter, what: 'waits' | 'messages'): CountedBuckets {
  const { bounds, counts, sum } = meter[what];
  return { labels: { pool: meter.pool, lane: meter.lane }, bounds, counts, sum };
}

function lookUpThreads(registry: Registry, meters: PoolMeters): void {
  const common = { labelNames: ['pool'] as const, registers: [registry] };
  new Gauge({
    ...common,
    name: 'sheaf_pool_threads',
    help: 'Threads of the pool.',
    collect() {
      this.reset();
      for (const { pool, threads } of meters.uses()) this.inc({ pool }, threads);
    },
  });
  new Counter({
    ...common,
    name: 'sheaf_pool_busy_seconds_total',
    help: 'Time that the threads of the pool have worked, added up; of threads that died nothing is left.',
    collect() {
      this.reset();
      for (const { pool, busyMs } of meters.uses()) this.inc({ pool }, busyMs / 1000);
    },
  });
}
