// Counters of the pools: how many requests wait in each kind of queue and for how long, how many share a message, and
// how busy the threads are. Queues update them, and a scrape reads them. One per server. Runs on the main thread.
import type { Worker } from 'node:worker_threads';
import { Buckets } from '../base/histogram.js';

export type PoolName = 'front' | 'shard' | 'search' | 'embed' | 'batch' | 'log';

/** From a tenth of a millisecond to half a minute. */
const WAIT_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
const MESSAGE_REQUESTS = [1, 2, 4, 8, 16, 32, 64, 128, 1024];

/** The metrics of all queues of one kind: the queues of all shards, or of all models, count together. */
export class QueueMetrics {
  waiting = 0;
  readonly waits = new Buckets(WAIT_SECONDS);
  readonly messages = new Buckets(MESSAGE_REQUESTS);

  constructor(
    readonly pool: PoolName,
    /** The kind of queue: the label `queue` of the metrics. */
    readonly name: string,
  ) {}

  /** Records a message whose requests were queued at the times `sinceMs`. */
  sent(sinceMs: readonly number[]): void {
    const nowMs = performance.now();
    for (const ms of sinceMs) this.waits.add((nowMs - ms) / 1000);
    this.messages.add(sinceMs.length);
  }
}

export interface PoolUse {
  pool: PoolName;
  threads: number;
  /** Busy time of the current threads, each since its start. */
  busyMs: number;
}

export class PoolMetrics {
  private readonly byName = new Map<string, QueueMetrics>();
  private readonly pools: { pool: PoolName; workers: { readonly threads: Worker[] } }[] = [];

  /** Queues with the same name share one object. */
  queue(pool: PoolName, name: string): QueueMetrics {
    const known = this.byName.get(`${pool} ${name}`);
    const metrics = known ?? new QueueMetrics(pool, name);
    if (!known) this.byName.set(`${pool} ${name}`, metrics);
    return metrics;
  }

  watch(pool: PoolName, workers: { readonly threads: Worker[] }): void {
    this.pools.push({ pool, workers });
  }

  queues(): Iterable<QueueMetrics> {
    return this.byName.values();
  }

  /** One entry for each group of threads. */
  uses(): PoolUse[] {
    return this.pools.map(({ pool, workers: { threads } }) => ({
      pool,
      threads: threads.length,
      busyMs: threads.reduce((sum, thread) => sum + busyMs(thread), 0),
    }));
  }
}

/** 0 for a thread that has ended. */
const busyMs = (thread: Worker): number => thread.performance.eventLoopUtilization().active;
