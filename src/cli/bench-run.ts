// The searches of `sheaf bench`: as many at a time as there are connections, each as soon as the one before it is
// answered; or on a schedule, where latency counts from when a search was due, so that a server that stands still does
// not look fast. Called by bench.ts.
import { setMaxListeners } from 'node:events';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorOf } from '../client/error-answer.js';
import { encodePath } from '../client/url.js';
import type { SearchTiming } from '../contract/resources.js';
import { BenchConnection, type BenchAnswer } from './bench-connection.js';
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
  const base = new URL(target.access.url);
  const requests = queries.map((q) => requestOf(target, base, { q, k: options.k, mode: options.mode }));
  const connections = Array.from({ length: options.connections }, () => new BenchConnection(base));
  const ending = new AbortController();
  const end = (): void => {
    ending.abort();
    for (const connection of connections) connection.close();
  };
  // Every connection may wait for its time.
  setMaxListeners(0, ending.signal);
  signal.addEventListener('abort', end, { once: true });
  const run = new BenchRun(requests, options, ending.signal);
  try {
    await Promise.all(connections.map((connection) => run.work(connection)));
    return run.measured();
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

/** The bytes of a search: made once, sent often. */
function requestOf({ tenant, collection, access: { key } }: Target, { host, pathname }: URL, search: object): Buffer {
  const body = JSON.stringify(search);
  const path = `${pathname.replace(/\/+$/, '')}${encodePath(['v1', 'collections', tenant, collection, 'search'])}`;
  const headers = {
    host,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(key && { authorization: `Bearer ${key}` }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

class BenchRun {
  private readonly startedAtMs = performance.now();
  private readonly histogram = createHistogram();
  private readonly phases = new Map<string, number>();
  private readonly errors: Record<string, number> = {};
  private sent = 0;
  private failed = 0;

  constructor(
    private readonly requests: readonly Buffer[],
    private readonly options: Load,
    private readonly signal: AbortSignal,
  ) {}

  /** One connection's searches. */
  async work(connection: BenchConnection): Promise<void> {
    const { seconds, rate } = this.options;
    while (!this.signal.aborted) {
      const number = this.sent;
      const dueAfterMs = rate === undefined ? performance.now() - this.startedAtMs : (1000 * number) / rate;
      if (dueAfterMs >= 1000 * seconds) return;
      this.sent += 1;
      const dueAtMs = this.startedAtMs + dueAfterMs;
      if (!(await this.isReached(dueAtMs))) return;
      await this.search(connection, this.requests[number % this.requests.length] as Buffer, dueAtMs);
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

  private async search(connection: BenchConnection, request: Buffer, dueAtMs: number): Promise<void> {
    const answer = await connection.ask(request).catch((error: unknown) => {
      if (!this.signal.aborted) throw error;
    });
    if (answer === undefined) return;
    if (answer.status !== 200) return this.refused(answer);
    this.histogram.record(Math.max(1, Math.round((performance.now() - dueAtMs) * US_PER_MS)));
    this.addPhases(timingOf(answer.body));
  }

  /** A refused key, say, is refused every time. */
  private refused({ status, body }: BenchAnswer): void {
    const error = errorOf({ status, statusText: `HTTP ${status}`, headers: { get: () => null } }, body.toString());
    this.failed += 1;
    this.errors[error.code] = (this.errors[error.code] ?? 0) + 1;
    if (status < 429) throw error;
  }

  private addPhases(timing: SearchTiming | undefined): void {
    for (const [phase, phaseMs] of Object.entries(timing ?? {}))
      this.phases.set(phase, (this.phases.get(phase) ?? 0) + (phaseMs as number));
  }
}

const TIMING = '"timing":';

/** It stands behind the hits, whose texts are not read; within a text its quotes would be escaped. */
function timingOf(body: Buffer): SearchTiming | undefined {
  const at = body.lastIndexOf(TIMING);
  if (at < 0) return undefined;
  return JSON.parse(body.toString('utf8', at + TIMING.length, body.indexOf('}', at) + 1)) as SearchTiming;
}
