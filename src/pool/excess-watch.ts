// Watches what a task takes while it runs in another thread: time, and memory by the growth of the whole process, which
// is what can be seen from outside of a busy thread. Used by crew.ts on the front thread.

export interface TaskLimits {
  timeoutMs: number;
  /** By how much a task may let the process grow. */
  memoryMb: number;
}

const WATCH_EVERY_MS = 100;
/** What a thread takes when it loads its libraries. */
const WARM_UP_MB = 128;

/** Aborts, with `time` or `memory` for a reason, what takes more than it may. The answer ends the watch. */
export function watchExcess(excess: AbortController, { timeoutMs, memoryMb }: TaskLimits): () => void {
  const timeout = setTimeout(() => excess.abort('time'), timeoutMs);
  let bytesMax: number | undefined;
  const interval = setInterval(() => {
    const bytes = process.memoryUsage.rss();
    bytesMax ??= bytes + (memoryMb + WARM_UP_MB) * 2 ** 20;
    if (bytes > bytesMax) excess.abort('memory');
  }, WATCH_EVERY_MS);
  return () => {
    clearTimeout(timeout);
    clearInterval(interval);
  };
}
