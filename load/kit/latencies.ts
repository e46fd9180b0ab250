// Quantiles of latencies, as they were measured one by one, without a histogram's rounding.
// Used by hammer.ts and open-loop.ts.

export interface Latencies {
  meanMs: number;
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
}

/** All NaN where there are none. */
export function latenciesOf(valuesMs: Iterable<number>): Latencies {
  const sorted = Float64Array.from(valuesMs).sort();
  const quantile = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
  const meanMs = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return {
    meanMs,
    p50Ms: quantile(0.5),
    p90Ms: quantile(0.9),
    p99Ms: quantile(0.99),
    p999Ms: quantile(0.999),
    maxMs: quantile(1),
  };
}
