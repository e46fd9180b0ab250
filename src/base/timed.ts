// Measures how long the phases of some work take, each by its name. Pure but for the clock.
// Used by the use cases of searches and ingests, on the front thread.

/** Adds the milliseconds of `work` to its phase, whether it succeeds or not. */
export async function timed<P extends string, T>(
  timing: Partial<Record<P, number>>,
  phase: P,
  work: () => Promise<T>,
): Promise<T> {
  const startedAtMs = performance.now();
  try {
    return await work();
  } finally {
    timing[phase] = (timing[phase] ?? 0) + performance.now() - startedAtMs;
  }
}
