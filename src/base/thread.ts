// Functions that worker threads call on their own behalf: reporting that they have loaded, logging, reporting memory,
// lowering their priority, ending. Only createMemoryReport, reportedBytes and internalErrorOf are for the main thread
// too.
import { readlinkSync } from 'node:fs';
import { platform, setPriority } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { parentPort, threadId } from 'node:worker_threads';
import type { Log, LogNote, ReadyNote } from './log.js';

/**
 * Must be the last step of loading a worker: a thread must not be terminated while it loads (src/pool/worker-pool.ts).
 */
export function noteReady(): void {
  parentPort?.postMessage({ ready: threadId } satisfies ReadyNote);
}

/** Writes a line to the log of the main thread. */
export function noteForLog(level: LogNote['level'], fields: LogNote['fields'], message: string): void {
  parentPort?.postMessage({ level, fields, message } satisfies LogNote);
}

/** The log of this thread, whose lines the main thread writes. Debug lines are sent only if `hasDebug`. */
export const createThreadLog = (hasDebug: boolean): Log => ({
  debug: (fields, message) => {
    if (hasDebug) noteForLog('debug', fields, message);
  },
  info: (fields, message) => noteForLog('info', fields, message),
  warn: (fields, message) => noteForLog('warn', fields, message),
  error: (fields, message) => noteForLog('error', fields, message),
});

/** Whether another thread of this process has owned the store at `place` before. Each thread must call it once. */
export const takesOver = (starts: SharedArrayBuffer, place: number): boolean =>
  Atomics.add(new Int32Array(starts), place, 1) > 0;

// Memory of a thread's isolate while a task runs: its heap and external memory, without that of other threads. It is a
// number in shared memory, so that the watchdog can read it without asking the thread.

const EVERY_MS = 50;
const BYTES_PER_UNIT = 1024;

/** Creates the report, which is sent with the task. */
export const createMemoryReport = (): SharedArrayBuffer => new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);

/** Growth of the isolate since the task began, as last reported. */
export const reportedBytes = (report: SharedArrayBuffer): number =>
  Atomics.load(new Int32Array(report), 0) * BYTES_PER_UNIT;

/** Starts periodic reports, whenever the thread is free to run a timer; returns a function that stops them. */
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

/** With this niceness, a thread gets about a tenth of the CPU time of a normal one on the same core (`man 7 sched`). */
const NICENESS = 10;

/**
 * Lowers the priority of this thread. On Linux, priority is a property of a thread and inherited by the threads it
 * starts; on other systems it would affect the whole process, so it is not changed.
 */
export function yieldToSearches(): void {
  if (platform() !== 'linux') return;
  const thread = Number(readlinkSync('/proc/thread-self').split('/').pop());
  setPriority(thread, NICENESS);
}

/** The stack of an error, if it has one, for the log. */
export const internalErrorOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/**
 * Ends this thread by an uncaught exception. Never resolves; the pool rejects the running tasks when the thread ends.
 */
export function endThread(error: unknown): Promise<never> {
  setImmediate(() => {
    throw error;
  });
  return new Promise(() => {});
}
