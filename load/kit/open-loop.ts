// Requests at fixed times, whether or not the ones before are answered: a server that stalls does not get fewer of them.
// Used by the load programs that measure what others notice of a load.

export interface OpenLoopResult {
  requests: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** `ask` resolves when its answer is there, and rejects where it is not good. Latency counts from the time it was due. */
export async function openLoop(requestsPerSecond: number, seconds: number, ask: (n: number) => Promise<void>): Promise<OpenLoopResult> {
  const startedAtMs = performance.now();
  const latenciesMs: number[] = [];
  const asked = Array.from({ length: Math.round(requestsPerSecond * seconds) }, async (_, n) => {
    const dueAtMs = startedAtMs + (n * 1000) / requestsPerSecond;
    await new Promise((resolve) => setTimeout(resolve, dueAtMs - performance.now()));
    await ask(n);
    latenciesMs.push(performance.now() - dueAtMs);
  });
  await Promise.all(asked);
  latenciesMs.sort((a, b) => a - b);
  const quantile = (q: number): number => latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(q * latenciesMs.length))] ?? NaN;
  return { requests: latenciesMs.length, p50Ms: quantile(0.5), p99Ms: quantile(0.99), maxMs: quantile(1) };
}
