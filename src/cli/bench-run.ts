// The searches of `sheaf bench`: as many at a time as there are connections, each as soon as the one before it is
// answered; or on a schedule, where latency counts from when a search was due, so that a server that stands still does
// not look fast. Called by bench.ts.
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafError } from '../client/errors.js';
import type { SearchTiming } from '../contract/resources.js';
import type { Target } from './target.js';

export interface Load {
  seconds: number;
  /** Searches under way at a time, at most. */
  connections: number;
  /** Searches a second, on a schedule. */
  rate?: number;
  k: number;
  mode?: string;
}

export interface Measured {
  searches: number;
  failed: number;
  seconds: number;
  per_second: number;
  /** Of answered searches, as this program saw them. */
  latency_ms: { p50: number; p90: number; p99: number; max: number; mean: number };
  /** Means of the phases that the server told. */
  server_ms: Record<string, number>;
  /** Failures by code. */
  errors: Record<string, number>;
}

const US_PER_MS = 1000;

export async function runSearches(
  target: Target,
  queries: readonly string[],
  options: Load,
  signal: AbortSignal,
): Promise<Measured> {
  const run = new BenchRun(target, queries, options, signal);
  const lanes = Array.from({ length: options.connections }, () => run.work());
  await Promise.all(lanes);
  return run.measured();
}

class BenchRun {
  private readonly startedAtMs = performance.now();
  private readonly histogram = createHistogram();
  private readonly phases = new Map<string, number>();
  private readonly errors: Record<string, number> = {};
  private sent = 0;
  private failed = 0;

  constructor(
    private readonly target: Target,
    private readonly queries: readonly string[],
    private readonly options: Load,
    private readonly signal: AbortSignal,
  ) {}

  /** One connection's searches. */
  async work(): Promise<void> {
    const { seconds, rate } = this.options;
    while (!this.signal.aborted) {
      const number = this.sent;
      const dueAfterMs = rate === undefined ? performance.now() - this.startedAtMs : (1000 * number) / rate;
      if (dueAfterMs >= 1000 * seconds) return;
      this.sent += 1;
      const dueAtMs = this.startedAtMs + dueAfterMs;
      if (!(await this.isReached(dueAtMs))) return;
      await this.search(this.queries[number % this.queries.length] as string, dueAtMs);
    }
  }

  /** False where it is told to stop before. */
  private async isReached(dueAtMs: number): Promise<boolean> {
    const leftMs = dueAtMs - performance.now();
    if (leftMs > 0) await sleep(leftMs, undefined, { signal: this.signal }).catch(() => undefined);
    return !this.signal.aborted;
  }

  measured(): Measured {
    const seconds = (performance.now() - this.startedAtMs) / 1000;
    const { histogram } = this;
    const searches = histogram.count;
    const at = (percentile: number): number => histogram.percentile(percentile) / US_PER_MS;
    const latency =
      searches === 0
        ? { p50: 0, p90: 0, p99: 0, max: 0, mean: 0 }
        : { p50: at(50), p90: at(90), p99: at(99), max: histogram.max / US_PER_MS, mean: histogram.mean / US_PER_MS };
    const phases = Object.fromEntries(
      [...this.phases].map(([phase, sum]) => [phase.replace(/_ms$/, ''), sum / searches]),
    );
    return {
      searches,
      failed: this.failed,
      seconds,
      per_second: searches / seconds,
      latency_ms: latency,
      server_ms: phases,
      errors: this.errors,
    };
  }

  private async search(q: string, dueAtMs: number): Promise<void> {
    const { client, tenant, collection } = this.target;
    const { k, mode } = this.options;
    try {
      const { timing } = await client.search(
        tenant,
        collection,
        { q, k, mode },
        { signal: this.signal, retriesMax: 0 },
      );
      this.histogram.record(Math.max(1, Math.round((performance.now() - dueAtMs) * US_PER_MS)));
      this.addPhases(timing);
    } catch (error) {
      if (this.signal.aborted) return;
      if (!(error instanceof SheafError)) throw error;
      this.failed += 1;
      this.errors[error.code] = (this.errors[error.code] ?? 0) + 1;
      // A refused key, say, is refused every time.
      if (error.status < 429) throw error;
    }
  }

  private addPhases(timing: SearchTiming | undefined): void {
    for (const [phase, phaseMs] of Object.entries(timing ?? {}))
      this.phases.set(phase, (this.phases.get(phase) ?? 0) + (phaseMs as number));
  }
}
