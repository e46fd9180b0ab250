// Statistics for the metrics: counts by bucket, and quantiles of recent values. Not shared between threads.

/**
 * Counts values by bucket in plain numbers, which costs a fraction of what the metrics library needs (node
 * dist/load/main.js http observability).
 */
export class Buckets {
  /** One count per bound, and one for values beyond the last bound. */
  readonly counts: Float64Array;
  private total = 0;

  /** `bounds` are inclusive upper bounds in ascending order. */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  get sum(): number {
    return this.total;
  }

  add(value: number): void {
    const place = bucketOf(this.bounds, value);
    this.counts[place] = (this.counts[place] as number) + 1;
    this.total += value;
  }

  /** Adds counts with the same bounds. */
  absorb(counts: ArrayLike<number>, sum: number): void {
    for (let place = 0; place < counts.length; place++) this.counts[place]! += counts[place] as number;
    this.total += sum;
  }

  reset(): void {
    this.counts.fill(0);
    this.total = 0;
  }
}

/**
 * The index of the first bound that is not less than `value`. The bounds are few, so binary search would not be faster.
 */
export function bucketOf(bounds: readonly number[], value: number): number {
  let place = 0;
  while (place < bounds.length && value > (bounds[place] as number)) place++;
  return place;
}

const LATEST = 2048;

/** A ring of the latest latencies, for current quantiles; its size is fixed. */
export class LatencyWindow {
  private readonly ring = new Float64Array(LATEST);
  private added = 0;
  /** Values of other threads that are counted, but were older than the latest there. */
  private missed = 0;

  /** The number of values since the start or the last reset. */
  get count(): number {
    return this.added + this.missed;
  }

  add(ms: number): void {
    this.ring[this.added++ % LATEST] = ms;
  }

  /** Quantiles (0 to 1) of the latest 2,048 values by the nearest-rank method; undefined if there are none. */
  quantiles<Q extends readonly number[]>(...wanted: Q): { [I in keyof Q]: number } | undefined {
    if (this.added === 0) return undefined;
    const sorted = this.ring.slice(0, Math.min(this.added, LATEST)).sort();
    return wanted.map((q) => sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] as number) as {
      [I in keyof Q]: number;
    };
  }

  reset(): void {
    this.added = 0;
    this.missed = 0;
  }

  /** The number of values since the last call and the latest of them, for `absorb` on another thread. */
  take(): Latencies {
    const taken = { count: this.added, latest: this.ring.slice(0, Math.min(this.added, LATEST)) };
    this.reset();
    return taken;
  }

  absorb({ count, latest }: Latencies): void {
    for (const ms of latest) this.add(ms);
    this.missed += count - latest.length;
  }
}

interface Latencies {
  readonly count: number;
  readonly latest: Float64Array;
}
