// Requests over connections that are kept, at less processor time each than fetch takes; and requests at fixed times:
// what a schedule of many requests is sent by, with the load generator on the machine that it measures.
import { Agent, request } from 'node:http';
import { type Latencies, latenciesOf } from './closed-loop.js';

export interface SentRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

const ANSWER_WITHIN_MS = 120_000;
/** Beyond so many under way a request waits for a connection, and its latency counts on. */
const CONNECTIONS_MAX = 512;

export class HttpSender {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  private readonly base: URL;

  constructor(url: string) {
    this.base = new URL(url);
  }

  /** The status; the body is read, and dropped. Rejects where there is no answer. */
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
 * Requests at fixed times, whether or not the ones before are answered: a server that stalls does not get fewer of
 * them. `ask` resolves when its answer is there, and rejects where it is not good. Latency counts from the time it was
 * due.
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
 * Calls `ask` on a schedule with the time, as of performance.now, from which its latency counts: when it was due, or,
 * as timers are as much as a millisecond early, when it was called.
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
