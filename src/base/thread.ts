// What a worker thread says of itself, and does for itself: that it has loaded, what is to be logged, the memory it
// takes, its priority, its end. The front thread uses createMemoryReport and reportedBytes alone.
import { readlinkSync } from 'node:fs';
import { platform, setPriority } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { parentPort, threadId } from 'node:worker_threads';
import type { LoadedNote, LogNote } from './log.js';

/** The last thing that a worker does while it loads: a thread that loads must not be ended (src/pool/worker-pool.ts). */
export function noteLoaded(): void {
  parentPort?.postMessage({ loaded: threadId } satisfies LoadedNote);
}

/** Logs by the front thread's log. */
export function noteForLog(level: LogNote['level'], fields: LogNote['fields'], message: string): void {
  parentPort?.postMessage({ level, fields, message } satisfies LogNote);
}

/** Whether another thread of this process has had the store at `place` before. To be called once by each. */
export const takesOver = (starts: SharedArrayBuffer, place: number): boolean =>
  Atomics.add(new Int32Array(starts), place, 1) > 0;

// The memory of a thread's isolate while a task runs: its heap and what its objects hold outside of it, and nothing of
// other threads. It is a number in shared memory: whoever watches does not wait for an answer.

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

/** A tenth of what a thread of normal priority gets, where both want the same core (`man 7 sched`). */
const NICENESS = 10;

/**
 * Lowers the priority of this thread at the operating system. On Linux it is a property of each thread, and the threads
 * it starts inherit it; elsewhere it would be that of the whole process, and stays as it is.
 */
export function yieldToSearches(): void {
  if (platform() !== 'linux') return;
  const thread = Number(readlinkSync('/proc/thread-self').split('/').pop());
  setPriority(thread, NICENESS);
}

/** For the log: the stack, where there is one. */
export const faultOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** Ends this thread as what nobody catches does. Never resolves: what was under way is answered by its end. */
export function endThread(error: unknown): Promise<never> {
  setImmediate(() => {
    throw error;
  });
  return new Promise(() => {});
}
