// What the pools tell of themselves: how many requests wait in each kind of lane and for how long, how many travel in a
// message, and how busy the threads are. Filled by the lanes and pools as they work, read when the metrics are scraped.
// One for each server; front thread.
import type { Worker } from 'node:worker_threads';
import { Buckets } from '../base/histogram.js';

export type PoolName = 'shard' | 'search' | 'embed' | 'batch' | 'log';

/** A tenth of a millisecond to half a minute. */
const WAIT_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
const MESSAGE_REQUESTS = [1, 2, 4, 8, 16, 32, 64, 128, 1024];

/** Of all lanes of a kind: those of every shard, or of every model, count together. */
export class LaneMeter {
  waiting = 0;
  readonly waits = new Buckets(WAIT_SECONDS);
  readonly messages = new Buckets(MESSAGE_REQUESTS);

  constructor(
    readonly pool: PoolName,
    readonly lane: string,
  ) {}

  /** A message leaves with requests that came at `sinceMs`. */
  sent(sinceMs: readonly number[]): void {
    const nowMs = performance.now();
    for (const ms of sinceMs) this.waits.add((nowMs - ms) / 1000);
    this.messages.add(sinceMs.length);
  }
}

/** A pool, as far as it is metered: the threads that it has now. */
interface Threads {
  readonly threads: Worker[];
}

export interface PoolUse {
  pool: PoolName;
  threads: number;
  /** Of the threads there are now, since each of them started. */
  busyMs: number;
}

export class PoolMeters {
  private readonly byNames = new Map<string, LaneMeter>();
  private readonly pools: { pool: PoolName; held: Threads }[] = [];

  lane(pool: PoolName, lane: string): LaneMeter {
    const known = this.byNames.get(`${pool} ${lane}`);
    const meter = known ?? new LaneMeter(pool, lane);
    if (!known) this.byNames.set(`${pool} ${lane}`, meter);
    return meter;
  }

  watch(pool: PoolName, held: Threads): void {
    this.pools.push({ pool, held });
  }

  lanes(): Iterable<LaneMeter> {
    return this.byNames.values();
  }

  /** Pools that have several crews of threads have one for each. */
  uses(): PoolUse[] {
    return this.pools.map(({ pool, held: { threads } }) => ({
      pool,
      threads: threads.length,
      busyMs: threads.reduce((sum, thread) => sum + busyMs(thread), 0),
    }));
  }
}

/** 0 of one that has ended. */
const busyMs = (thread: Worker): number => thread.performance.eventLoopUtilization().active;
