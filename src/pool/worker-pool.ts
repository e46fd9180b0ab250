// Worker threads, managed by Piscina. This is the only place where threads are started, watched and ended, and where
// their results become values and errors. A pool keeps its number of threads: a thread that dies is replaced.
// Runs on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { MessagePort, ResourceLimits, Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { AppError, type ErrorCode, type Result } from '../api/errors.js';
import type { Log, LogNote, ReadyNote } from '../base/log.js';
import type { PendingRequest } from './request-queue.js';
import { WorkerError } from '../base/rpc.js';

const RECHECK_MS = 5;
/** Pause before threads that have all died while they loaded are started again. */
const RESTART_MS = 100;
/** Threads load within a second; one that hangs must not keep the server from stopping. */
export const LOAD_MS_MAX = 10_000;

interface WorkerPoolOptions {
  /** The module that each thread runs, in workers/. */
  program: URL;
  /** The name of the threads in log messages, such as `a shard worker`. */
  name: string;
  threads: number;
  /** Copied to each thread when it starts; shared memory in it is shared. */
  workerData: object;
  log: Log;
  /**
   * Start the threads with the first task, which saves their cost at the start of the server. Absent: start at once.
   */
  isLazy?: boolean;
  /**
   * Maximum number of tasks that are sent to a thread at a time. Absent for no bound; the sender then keeps the queue
   * at the thread short.
   */
  tasksPerThread?: number;
  resourceLimits?: ResourceLimits;
  /**
   * Called when Piscina begins to send tasks to a thread. For the first threads that is when they start, and tasks wait
   * until they have loaded; their successors have already loaded.
   */
  created?: () => void;
  /** Called when Piscina stops sending tasks to a thread and replaces it, before its tasks are rejected. */
  destroyed?: () => void;
  /** Called when a thread has ended and nothing runs in it any more. */
  exited?: (threadId: number) => void;
}

export class WorkerPool {
  private piscina: Piscina | undefined;
  /** The ids of the threads that have loaded their program. */
  private readonly readyThreads = new Set<number>();
  private hasEnded = false;

  constructor(private readonly options: WorkerPoolOptions) {
    if (!options.isLazy) this.started();
  }

  /** The current threads; none if the pool is lazy and has had no task yet. */
  get threads(): Worker[] {
    return this.piscina?.threads ?? [];
  }

  /** Runs a task. Rejects if the thread dies while running it, and once the pool has ended. */
  run(...task: Parameters<Piscina['run']>): Promise<unknown> {
    if (this.hasEnded) return Promise.reject(new Error('the pool has ended'));
    return this.started().run(...task);
  }

  /** Resolves to true when all threads have loaded their program, to false if one has not done so after ten seconds. */
  async whenReady(): Promise<boolean> {
    const untilMs = performance.now() + LOAD_MS_MAX;
    while (this.threads.some(({ threadId }) => threadId > 0 && !this.readyThreads.has(threadId))) {
      if (performance.now() > untilMs) return false;
      await sleep(RECHECK_MS);
    }
    return true;
  }

  /** Terminates the threads, as a crash would; they are replaced. */
  async kill(): Promise<void> {
    await this.whenReady();
    await Promise.all(this.threads.map((thread) => thread.terminate()));
  }

  /**
   * Ends the threads for good, once they have loaded: terminating a thread while it loads modules crashes the process
   * in Node 20, by an assertion about half-linked modules.
   */
  async end(): Promise<void> {
    this.hasEnded = true;
    await this.whenReady();
    await this.piscina?.destroy();
  }

  /**
   * Starts the threads and attaches the handlers synchronously, because Piscina reports the first threads in its next
   * microtask.
   */
  private started(): Piscina {
    return (this.piscina ??= this.start());
  }

  private start(): Piscina {
    const { program, name, threads, workerData, log, tasksPerThread = 1_000_000, resourceLimits } = this.options;
    const piscina = new Piscina({
      filename: fileURLToPath(program),
      name: 'run',
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerThread,
      // Timers and I/O of a thread continue while it has no task.
      atomics: 'async',
      recordTiming: false,
      workerData,
      ...(resourceLimits && { resourceLimits }),
    });
    piscina.on('workerCreate', (created: object) => {
      this.watch(created);
      this.options.created?.();
    });
    piscina.on('workerDestroy', () => {
      this.options.destroyed?.();
      setImmediate(() => this.renounceIfEmpty(piscina));
    });
    piscina.on('error', (error: Error) => log.error({ error: error.stack }, `${name} died`));
    piscina.on('message', ({ ready, level, fields = {}, message = '' }: Partial<ReadyNote & LogNote>) => {
      if (ready !== undefined) this.readyThreads.add(ready);
      if (level) log[level](fields, message);
    });
    return piscina;
  }

  /**
   * Piscina replaces a thread that has died, unless one has ever died before it had loaded. So it may be left without
   * threads, and the tasks that wait in it would never settle. Then they are rejected like those of a dead thread, and
   * threads start again: of a lazy pool with its next task, of others after a moment.
   */
  private renounceIfEmpty(piscina: Piscina): void {
    if (this.hasEnded || piscina !== this.piscina || piscina.threads.length > 0) return;
    this.piscina = undefined;
    void piscina.destroy();
    if (!this.options.isLazy) setTimeout(() => void (this.hasEnded || this.started()), RESTART_MS).unref();
  }

  /**
   * A message that cannot be deserialized, for example because it is nested too deeply, causes an error event of the
   * port. Piscina does not listen for that, and the task would never settle. The event does not identify the task, so
   * the thread is terminated and its tasks are rejected as after any crash.
   */
  private watch(created: object): void {
    const { worker, port } = threadOf(created);
    const { threadId } = worker;
    port.on('messageerror', () => void worker.terminate());
    worker.once('exit', () => {
      this.readyThreads.delete(threadId);
      this.options.exited?.(threadId);
    });
  }
}

/** The thread and its port, which Piscina stores under a symbol of its own. */
function threadOf(created: object): { worker: Worker; port: MessagePort } {
  const symbol = Object.getOwnPropertySymbols(created).find(({ description }) => description?.endsWith('kWorkerData'));
  return (created as Record<symbol, { worker: Worker; port: MessagePort }>)[symbol as symbol] as {
    worker: Worker;
    port: MessagePort;
  };
}

/** The value of a result. Throws AppError for a client error, and WorkerError for an internal error. */
function valueOf<T>(result: Result<T>, log: Log): T {
  if ('value' in result) return result.value;
  if ('error' in result) throw AppError.fromWire(result.error);
  log.error({ error: result.internalError }, 'a worker failed a command');
  throw new WorkerError('a worker failed a command');
}

/** Settles the requests of a batch by their results, which are in the same order. */
export function settleAll<Q, A>(batch: readonly PendingRequest<Q, A>[], results: readonly Result<A>[], log: Log): void {
  batch.forEach(({ resolve, reject }, i) => {
    try {
      resolve(valueOf(results[i] as Result<A>, log));
    } catch (error) {
      reject(error);
    }
  });
}

/**
 * The value of a task's result. If the worker died, throws the retryable error `whenDead`; an AppError is rethrown
 * unchanged.
 */
export async function taskValue<T>(task: Promise<Result<T>>, whenDead: ErrorCode, log: Log): Promise<T> {
  let result: Result<T>;
  try {
    result = await task;
  } catch (error) {
    if (error instanceof AppError) throw error;
    log.warn({ reason: (error as Error).message }, 'a worker died while running a task');
    throw new AppError(whenDead, undefined, { retryAfterS: 1 });
  }
  return valueOf(result, log);
}

/** Throws the AppError or WorkerError of the first result that failed. */
export function assertStored(results: readonly Result<unknown>[]): void {
  for (const result of results) {
    if ('error' in result) throw AppError.fromWire(result.error);
    if ('internalError' in result) throw new WorkerError(result.internalError);
  }
}
