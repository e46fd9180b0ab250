// Some counters and latencies of the latest minutes, so that charts begin with what has been. Runs on the main thread.
import type { MetricsSample } from '../../api/health.js';
import type { LatencyWindow } from '../../base/histogram.js';
import { roundTo } from '../../base/numbers.js';
import type { Metrics } from '../../observability/metrics.js';
import type { Fronts } from '../fronts.js';

interface MetricsHistoryOptions {
  readonly metrics: Pick<Metrics, 'counts' | 'searchLatency'>;
  readonly fronts: Pick<Fronts, 'collect'>;
  readonly nowMs: () => number;
}

const EVERY_MS = 5000;
/** Five minutes. */
const SAMPLES_MAX = 60;

export class MetricsHistory {
  private readonly samples: MetricsSample[] = [];
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly options: MetricsHistoryOptions) {
    this.samples.push(this.present());
    this.timer = setInterval(() => void this.sample(), EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** The latest samples, oldest first, and one of now. The front threads have been asked for their counters. */
  latest(): MetricsSample[] {
    return [...this.samples, this.present()];
  }

  private async sample(): Promise<void> {
    // A front thread that has died is replaced; its counters come later.
    await this.options.fronts.collect().catch(() => undefined);
    this.samples.push(this.present());
    if (this.samples.length > SAMPLES_MAX) this.samples.shift();
  }

  private present(): MetricsSample {
    const { metrics, nowMs } = this.options;
    const { counts, searchLatency } = metrics;
    return {
      at: nowMs() / 1000,
      requests_total: counts.requests,
      search_total: counts.searches,
      chunks_indexed_total: counts.chunksIndexed,
      ...percentiles('search', searchLatency),
    };
  }
}

type Percentiles<What extends string> = { [Name in `${What}_latency_${'p50' | 'p95' | 'p99'}_ms`]?: number };

/** Of the latest searches or ingests; nothing if there were none. */
export function percentiles<What extends 'search' | 'ingest'>(what: What, window: LatencyWindow): Percentiles<What> {
  const [p50, p95, p99] = (window.quantiles(0.5, 0.95, 0.99) ?? []).map((ms) => roundTo(ms, 3));
  if (p50 === undefined) return {};
  return {
    [`${what}_latency_p50_ms`]: p50,
    [`${what}_latency_p95_ms`]: p95,
    [`${what}_latency_p99_ms`]: p99,
  } as Percentiles<What>;
}
