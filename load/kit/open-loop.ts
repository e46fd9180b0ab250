// Requests over kept connections at less CPU than fetch, and requests on a schedule. Used where the load generator
// shares the machine with the measured server.
import { Agent, request } from 'node:http';
import { type Latencies, latenciesOf } from './closed-loop.js';

export interface SentRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

const ANSWER_WITHIN_MS = 120_000;
/** Beyond this many, a request waits for a connection, and its latency includes the wait. */
const CONNECTIONS_MAX = 512;

export class HttpSender {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  private readonly base: URL;

  constructor(url: string) {
    this.base = new URL(url);
  }

  /** Resolves to the status; the body is read and dropped. Rejects if there is no answer. */
  send({ method, path, headers, body = '' }: SentRequest): Promise<number> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.base;
      const sent = request(
        {
          hostname,
          port,
          path,
          method,
          agent: this.agent,
          timeout: ANSWER_WITHIN_MS,
          headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        },
        (answer) => {
          answer
            .once('end', () => resolve(answer.statusCode ?? 0))
            .once('error', reject)
            .resume();
        },
      );
      sent.once('error', reject).once('timeout', () => sent.destroy(new Error('no answer in time')));
      sent.end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

export interface OpenLoopResult extends Latencies {
  requests: number;
}

/**
 * Requests at fixed times, whether or not earlier ones are answered, so that a stalled server does not get fewer. `ask`
 * resolves with its answer and rejects for a bad one. Latency counts from the scheduled time.
 */
export async function openLoop(
  requestsPerSecond: number,
  seconds: number,
  ask: (n: number) => Promise<void>,
): Promise<OpenLoopResult> {
  const latenciesMs: number[] = [];
  await onSchedule(requestsPerSecond, seconds, async (n, sinceMs) => {
    await ask(n);
    latenciesMs.push(performance.now() - sinceMs);
  });
  return { requests: latenciesMs.length, ...latenciesOf(latenciesMs) };
}

/**
 * Calls `ask` on a schedule. Its argument is the `performance.now()` from which latency counts: the scheduled time, or
 * the time of the call, since timers may fire up to a millisecond early.
 */
export async function onSchedule(
  requestsPerSecond: number,
  seconds: number,
  ask: (n: number, sinceMs: number) => Promise<void>,
): Promise<void> {
  const startedAtMs = performance.now();
  const asked = Array.from({ length: Math.round(requestsPerSecond * seconds) }, async (_, n) => {
    const dueAtMs = startedAtMs + (n * 1000) / requestsPerSecond;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueAtMs - performance.now())));
    await ask(n, Math.min(dueAtMs, performance.now()));
  });
  await Promise.all(asked);
}
