// Statistics of what is measured, for the metrics: counts by bucket, and quantiles of the latest values.

/**
 * Counts of values by the bucket they fall into, as a histogram has them: plain numbers, so that counting one costs a
 * fraction of what the metrics library takes (node dist/load/main.js http observability).
 */
export class Buckets {
  /** One a bound, and one for what is beyond the last. */
  readonly counts: Float64Array;
  private total = 0;

  /** `bounds`: upper ones, inclusive, in ascending order. */
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

  reset(): void {
    this.counts.fill(0);
    this.total = 0;
  }
}

/** The place of the first bound that is not below `value`. Bounds are few: a search by halves would not be faster. */
export function bucketOf(bounds: readonly number[], value: number): number {
  let place = 0;
  while (place < bounds.length && value > (bounds[place] as number)) place++;
  return place;
}

const LATEST = 2048;

/** The latencies of the last while, for quantiles that tell how it goes now: a ring of the latest, of fixed size. */
export class LatencyWindow {
  private readonly ring = new Float64Array(LATEST);
  private added = 0;

  /** How many have been added since the start or the last reset. */
  get count(): number {
    return this.added;
  }

  add(ms: number): void {
    this.ring[this.added++ % LATEST] = ms;
  }

  /** Quantiles (0 to 1) of the latest 2,048, by the nearest rank; undefined while there is none. */
  quantiles<Q extends readonly number[]>(...wanted: Q): { [I in keyof Q]: number } | undefined {
    if (this.added === 0) return undefined;
    const sorted = this.ring.slice(0, Math.min(this.added, LATEST)).sort();
    return wanted.map((q) => sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] as number) as {
      [I in keyof Q]: number;
    };
  }

  reset(): void {
    this.added = 0;
  }
}
