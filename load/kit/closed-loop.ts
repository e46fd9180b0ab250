// A closed loop by autocannon: requests as fast as a number of connections permits, with exact latency quantiles. It
// shares the machine with the server.
import { once, type EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

export interface Latencies {
  meanMs: number;
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
}

/** Quantiles of latencies; all NaN if there are no values. */
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

export interface CannonRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer<ArrayBuffer>;
  /** Called before each send; its result is sent instead. */
  setupRequest?: (request: CannonRequest) => CannonRequest;
}

/** A POST of JSON; a `body` that is text is sent as it is. */
export const jsonPost = (path: string, body: object | string): CannonRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

export interface ClosedLoopOptions {
  url: string;
  connections: number;
  /** At least 1. */
  seconds: number;
  requests: CannonRequest[];
  /** Counts failures instead of throwing. */
  tolerant?: boolean;
}

/** Rate and latencies of 2xx answers. */
export interface ClosedLoopResult extends Latencies {
  /** Number of requests that were answered. */
  requests: number;
  requestsPerSecond: number;
  /** Requests with another status or without an answer; 0 unless `tolerant`. */
  failed: number;
}

/** The used part of autocannon, which has no types. */
type Autocannon = (options: CannonOptions, done: (error: Error | null, result: CannonResult) => void) => EventEmitter;

interface CannonOptions {
  url: string;
  connections: number;
  duration: number;
  /** Seconds to wait for an answer. */
  timeout: number;
  requests: CannonRequest[];
  setupClient: (connection: { setRequests(requests: CannonRequest[]): void }) => void;
}

interface CannonResult {
  /** Duration in seconds. */
  duration: number;
  errors: number;
  non2xx: number;
  '2xx': number;
}

/** Time limit of an answer: on a busy machine, a batch that a model embeds takes long. */
const ANSWER_WITHIN_S = 120;

const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;

/**
 * Every connection cycles through all requests, starting at a different one. Throws if an answer was not 2xx or did not
 * come.
 */
export async function closedLoop(options: ClosedLoopOptions): Promise<ClosedLoopResult> {
  const { result, latenciesMs } = await runAutocannon(options);
  const { errors, non2xx } = result;
  if (!options.tolerant && errors + non2xx > 0)
    throw new Error(`${errors} errors and ${non2xx} answers that are not 2xx`);
  return {
    requests: result['2xx'],
    requestsPerSecond: result['2xx'] / result.duration,
    failed: errors + non2xx,
    ...latenciesOf(latenciesMs),
  };
}

/** Runs closedLoop in a low-priority thread, so that it does not delay the measured work where cores are scarce. */
export async function closedLoopInThread(workerData: ClosedLoopOptions): Promise<ClosedLoopResult> {
  const worker = new Worker(new URL('./closed-loop-thread.js', import.meta.url), { workerData });
  const [result] = (await once(worker, 'message')) as [ClosedLoopResult];
  return result;
}

/** Collects single latencies, because autocannon's histogram resolves whole milliseconds only. */
async function runAutocannon({
  url,
  connections,
  seconds,
  requests,
}: ClosedLoopOptions): Promise<{ result: CannonResult; latenciesMs: number[] }> {
  const latenciesMs: number[] = [];
  let started = 0;
  const named = requests.map((request) => withHost(request, new URL(url).host));
  const setupClient: CannonOptions['setupClient'] = (connection) =>
    connection.setRequests(rotate(named, (started++ / connections) * named.length));
  const result = await new Promise<CannonResult>((resolve, reject) => {
    const cannon = autocannon(
      { url, connections, duration: seconds, timeout: ANSWER_WITHIN_S, requests: named, setupClient },
      (error, finished) => (error ? reject(error) : resolve(finished)),
    );
    cannon.on('response', (_client, status: number, _bytes, latencyMs: number) => {
      if (status >= 200 && status < 300) latenciesMs.push(latencyMs);
    });
  });
  return { result, latenciesMs };
}

/** Requests from `setupRequest` have no Host header, which a server without keys checks. */
function withHost(request: CannonRequest, host: string): CannonRequest {
  const { setupRequest } = request;
  return {
    ...request,
    headers: { host, ...request.headers },
    ...(setupRequest && { setupRequest: (before) => withHost(setupRequest(before), host) }),
  };
}

function rotate<T>(values: readonly T[], by: number): T[] {
  const start = Math.floor(by) % values.length;
  return [...values.slice(start), ...values.slice(0, start)];
}
