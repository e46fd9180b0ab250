// Requests at fixed times, whether or not the ones before are answered: a server that stalls does not get fewer of
// them. Used by the load programs that measure what others notice of a load.
import { latenciesOf, type Latencies } from './latencies.js';

export interface OpenLoopResult extends Latencies {
  requests: number;
}

/**
 * `ask` resolves when its answer is there, and rejects where it is not good. Latency counts from the time it was due.
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
