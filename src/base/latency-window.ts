// The latencies of the last while, for percentiles that tell how it goes now: a ring of the latest, of fixed size.
// Pure. Used by the metrics, on the front thread.

const LATEST = 2048;

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
