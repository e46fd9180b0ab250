// Checks now and then what a search has found: the search is kept, and when no other is under way it is made again, as
// it was and exactly. What is found goes to the metrics. A check takes a thousandth of the time at most; under load
// there is none. One sampler for each server; front thread.
import type { Collection } from '../../api/collections.js';
import { RECALL_K_MAX } from '../../api/limits.js';
import type { Log } from '../../base/log.js';
import type { Narrowing } from '../../engine/search/params.js';
import type { Recalled } from '../../ranking/top-k.js';

/** A search that says nothing of how the index is to be searched. */
export interface SampledSearch {
  vector: Float32Array;
  k: number;
  narrowing?: Narrowing;
}

type Offered = Pick<SampledSearch, 'vector' | 'k'> & { narrowing?: Narrowing | undefined };

export interface RecallSamplerOptions {
  /** Between two checks at least; 0: there are none. */
  everyMs: number;
  compare: (collection: Collection, search: SampledSearch) => Promise<Recalled>;
  isBusy: () => boolean;
  sampled: (collection: Collection, recalled: Recalled) => void;
  log: Log;
}

/** A moment without searches is looked for so often, then another search is waited for. */
const RECHECK_MS = 50;
const RECHECKS_MAX = 100;
/** Of the time, one part in so many. */
const SHARE = 1000;

export class RecallSampler {
  private dueAtMs = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: RecallSamplerOptions) {}

  /** A search has been made. */
  offer(collection: Collection, { vector, k, narrowing }: Offered): void {
    if (this.options.everyMs === 0 || this.timer || performance.now() < this.dueAtMs) return;
    this.dueAtMs = Infinity;
    this.wait(collection, { vector, k: Math.min(k, RECALL_K_MAX), ...(narrowing && { narrowing }) }, RECHECKS_MAX);
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

  /** A collection that is gone meanwhile, or a shard that is away, is no fault: then there is no sample. */
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
 * How much of a kind of work is under way: searches that wait for their hits, measurements of recall. Whoever would take
 * time from them asks for the count first.
 */
export class UnderWay {
  private now = 0;

  get count(): number {
    return this.now;
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
