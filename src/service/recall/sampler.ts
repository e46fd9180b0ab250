// Samples searches to measure recall in production: a search is kept and, when no other search runs, repeated with its
// parameters and exactly. The result goes to the metrics. Checks take at most a thousandth of the time, and none runs
// under load. There is one sampler per server. Runs on the main thread.
import type { Collection } from '../../api/collections.js';
import { RECALL_K_MAX } from '../../api/limits.js';
import type { Log } from '../../base/log.js';
import type { SearchFilter } from '../../engine/search/params.js';
import type { Recalled } from '../../ranking/top-k.js';

/** A search that sets no parameters of the index. */
export interface SampledSearch {
  vector: Float32Array;
  k: number;
  filter?: SearchFilter;
}

type Offered = Pick<SampledSearch, 'vector' | 'k'> & { filter?: SearchFilter | undefined };

export interface RecallSamplerOptions {
  /** Minimum time between two checks, in milliseconds; 0 disables them. */
  everyMs: number;
  compare: (collection: Collection, search: SampledSearch) => Promise<Recalled>;
  isBusy: () => boolean;
  sampled: (collection: Collection, recalled: Recalled) => void;
  log: Log;
}

/** While searches run, a kept search is retried this often and this many times before it is discarded. */
const RECHECK_MS = 50;
const RECHECKS_MAX = 100;
/** A check may take one part in this many of the time. */
const SHARE = 1000;

export class RecallSampler {
  private dueAtMs = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: RecallSamplerOptions) {}

  /** Offers a finished search to the sampler. */
  offer(collection: Collection, { vector, k, filter }: Offered): void {
    if (this.options.everyMs === 0 || this.timer || performance.now() < this.dueAtMs) return;
    this.dueAtMs = Infinity;
    this.wait(collection, { vector, k: Math.min(k, RECALL_K_MAX), ...(filter && { filter }) }, RECHECKS_MAX);
  }

  close(): void {
    this.dueAtMs = Infinity;
    clearTimeout(this.timer);
  }

  private wait(collection: Collection, search: SampledSearch, rechecks: number): void {
    this.timer = setTimeout(() => {
      if (!this.options.isBusy()) void this.check(collection, search);
      else if (rechecks > 0) this.wait(collection, search, rechecks - 1);
      else this.rest(0);
    }, RECHECK_MS).unref();
  }

  /** If the collection is deleted meanwhile or a shard is not available, there is no sample; that is not an error. */
  private async check(collection: Collection, search: SampledSearch): Promise<void> {
    const { compare, sampled, log } = this.options;
    const startedAtMs = performance.now();
    try {
      const recalled = await compare(collection, search);
      if (recalled.wanted > 0) sampled(collection, recalled);
      log.debug({ tenant: collection.tenant, collection: collection.name, ...recalled }, 'recall of a search');
    } catch (error) {
      log.debug({ reason: (error as Error).message }, 'a search could not be checked');
    }
    this.rest(performance.now() - startedAtMs);
  }

  private rest(tookMs: number): void {
    this.timer = undefined;
    this.dueAtMs = performance.now() + Math.max(this.options.everyMs, SHARE * tookMs);
  }
}

/**
 * Counts concurrent work of one kind, such as searches or recall measurements, so that background work can give way to
 * it.
 */
export class UnderWay {
  private now = 0;

  /** `elsewhere` is the number of such pieces of work on other threads. */
  constructor(private readonly elsewhere: () => number = () => 0) {}

  get count(): number {
    return this.now + this.elsewhere();
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.now++;
    try {
      return await work();
    } finally {
      this.now--;
    }
  }
}
