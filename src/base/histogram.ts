// Counts of values by the bucket they fall into, as a histogram has them: plain numbers, so that counting one costs a
// fraction of what the metrics library takes (node dist/load/observability.js). Pure. Used by the metrics and the
// pools, on the front thread.

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
