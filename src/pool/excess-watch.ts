// Watches what a task takes while it runs in another thread: time, and the memory of that thread's isolate as the thread
// tells it, so that a slow file is not refused for what others take meanwhile. A thread that does not come round to
// telling is held by the limit of its heap (crew.ts). Used by crew.ts on the front thread.
import { reportedBytes } from '../base/memory-report.js';

export interface TaskLimits {
  timeoutMs: number;
  /** By how much a task may let its thread grow. */
  memoryMb: number;
}

const WATCH_EVERY_MS = 100;
/** What a thread takes when it loads its libraries. */
const WARM_UP_MB = 128;

/**
 * Aborts, with `time` or `memory` for a reason, what takes more than it may. The answer ends the watch. `report`: of the
 * thread.
 */
export function watchExcess(
  excess: AbortController,
  { timeoutMs, memoryMb }: TaskLimits,
  report: SharedArrayBuffer,
): () => void {
  const timeout = setTimeout(() => excess.abort('time'), timeoutMs);
  const interval = setInterval(() => {
    if (reportedBytes(report) > (memoryMb + WARM_UP_MB) * 2 ** 20) excess.abort('memory');
  }, WATCH_EVERY_MS);
  return () => {
    clearTimeout(timeout);
    clearInterval(interval);
  };
}
