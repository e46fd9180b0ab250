// What the isolate of a thread takes, told to another while a task runs: its heap and what its objects hold outside of
// it, and nothing of other threads. A number in shared memory, for whoever watches does not wait for an answer.
import { getHeapStatistics } from 'node:v8';

const EVERY_MS = 50;
const BYTES_PER_UNIT = 1024;

/** To be sent with the task. */
export const createMemoryReport = (): SharedArrayBuffer => new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);

/** How much more the isolate takes than when the task began, as it was told last. */
export const reportedBytes = (report: SharedArrayBuffer): number =>
  Atomics.load(new Int32Array(report), 0) * BYTES_PER_UNIT;

/** Tells it from now on, whenever the thread comes round to it, until the function that is answered is called. */
export function reportMemory(report: SharedArrayBuffer): () => void {
  const cell = new Int32Array(report);
  const before = ownBytes();
  const timer = setInterval(
    () => Atomics.store(cell, 0, Math.max(0, Math.round((ownBytes() - before) / BYTES_PER_UNIT))),
    EVERY_MS,
  );
  return () => clearInterval(timer);
}

function ownBytes(): number {
  const { used_heap_size: heap, external_memory: outside } = getHeapStatistics();
  return heap + outside;
}
