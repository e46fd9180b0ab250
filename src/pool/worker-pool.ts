// Worker threads under Piscina: the one place where threads are started, watched and ended, and where their results
// become values and errors of this thread. A pool keeps its number of threads: Piscina starts a successor for each that
// dies. Front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { MessagePort, ResourceLimits, Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { AppError, type ErrorCode, type Outcome } from '../api/errors.js';
import type { LoadedNote, Log, LogNote } from '../base/log.js';
import type { PendingRequest } from './request-queue.js';

const RECHECK_MS = 5;
/** A thread loads within a second; one that hangs must not keep the server from stopping. */
const LOAD_MS_MAX = 10_000;

interface WorkerPoolOptions {
  /** The module that each thread runs: one of workers/. */
  program: URL;
  /** The pool's threads as the log names them, such as `a shard worker`. */
  name: string;
  threads: number;
  /** Each thread gets a copy when it starts; shared memory in it is shared. */
  workerData: object;
  log: Log;
  /** The threads start with the first task, so that a start of the server spends nothing on them. Absent: at once. */
  isLazy?: boolean;
  /** Absent: a thread takes whatever is sent; who sends keeps the queue at the thread short. */
  tasksPerThread?: number;
  resourceLimits?: ResourceLimits;
  /**
   * Piscina sends tasks to a thread. The first threads count as ready when they start: what they are sent waits until
   * they have loaded. Their successors have loaded.
   */
  created?: () => void;
  /** Piscina sends no task to a thread any more, and starts its successor. Called before its tasks are rejected. */
  destroyed?: () => void;
  /** A thread has ended: nothing runs in it any more. */
  exited?: (threadId: number) => void;
}

export class WorkerPool {
  private piscina: Piscina | undefined;
  /** Thread ids of those that have loaded their program. */
  private readonly loaded = new Set<number>();
  private hasEnded = false;

  constructor(private readonly options: WorkerPoolOptions) {
    if (!options.isLazy) this.started();
  }

  /** The threads that there are now: none of a lazy pool that was not asked yet. */
  get threads(): Worker[] {
    return this.piscina?.threads ?? [];
  }

  /** Rejects where the thread dies under the task, and once the pool has ended. */
  run(...task: Parameters<Piscina['run']>): Promise<unknown> {
    if (this.hasEnded) return Promise.reject(new Error('a pool that has ended runs nothing'));
    return this.started().run(...task);
  }

  /** Resolves when all threads have loaded their program; to false where one has not after ten seconds. */
  async whenLoaded(): Promise<boolean> {
    const untilMs = performance.now() + LOAD_MS_MAX;
    while (this.threads.some(({ threadId }) => threadId > 0 && !this.loaded.has(threadId))) {
      if (performance.now() > untilMs) return false;
      await sleep(RECHECK_MS);
    }
    return true;
  }

  /** Ends the threads, as a crash would. They have successors. */
  async kill(): Promise<void> {
    await this.whenLoaded();
    await Promise.all(this.threads.map((thread) => thread.terminate()));
  }

  /**
   * Ends the threads for good, once they have loaded: the end of a thread that loads takes the whole process with it,
   * for Node 20 asserts that a module which `require` links is linked, and the end leaves it half linked.
   */
  async end(): Promise<void> {
    this.hasEnded = true;
    await this.whenLoaded();
    await this.piscina?.destroy();
  }

  /** Handlers are attached in the turn that makes the threads: Piscina tells of the first ones in its next microtask. */
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
      // Timers and I/O of a thread go on while it has no task.
      atomics: 'async',
      recordTiming: false,
      workerData,
      ...(resourceLimits && { resourceLimits }),
    });
    piscina.on('workerCreate', (created: object) => {
      this.watch(created);
      this.options.created?.();
    });
    piscina.on('workerDestroy', () => this.options.destroyed?.());
    piscina.on('error', (error: Error) => log.error({ fault: error.stack }, `${name} died`));
    piscina.on('message', ({ loaded, level, fields = {}, message = '' }: Partial<LoadedNote & LogNote>) => {
      if (loaded !== undefined) this.loaded.add(loaded);
      if (level) log[level](fields, message);
    });
    return piscina;
  }

  /**
   * An answer that this thread cannot read, such as one nested too deep for the stack here, comes as an error of the
   * port. Piscina does not listen for it: whoever asked would wait for ever. The error does not name its task, so it
   * ends the thread, and the tasks are rejected as with any death.
   */
  private watch(created: object): void {
    const { worker, port } = threadOf(created);
    const { threadId } = worker;
    port.on('messageerror', () => void worker.terminate());
    worker.once('exit', () => {
      this.loaded.delete(threadId);
      this.options.exited?.(threadId);
    });
  }
}

/** Piscina keeps a thread and the port to it under a symbol of its own. */
function threadOf(created: object): { worker: Worker; port: MessagePort } {
  const symbol = Object.getOwnPropertySymbols(created).find(({ description }) => description?.endsWith('kWorkerData'));
  return (created as Record<symbol, { worker: Worker; port: MessagePort }>)[symbol as symbol] as {
    worker: Worker;
    port: MessagePort;
  };
}

/** An internal error in a worker. It has been logged; a client is told `internal_error`. */
export class WorkerFault extends Error {
  override readonly name = 'WorkerFault';
}

/** The value of a result. Throws AppError for a client error, WorkerFault for an internal one. */
function valueOf<T>(result: Outcome<T>, log: Log): T {
  if ('value' in result) return result.value;
  if ('error' in result) throw AppError.fromWire(result.error);
  log.error({ fault: result.fault }, 'a worker failed a command');
  throw new WorkerFault('a worker failed a command');
}

/** Settles each request of a batch by its result; they stand in the same order. */
export function settleAll<Q, A>(
  batch: readonly PendingRequest<Q, A>[],
  results: readonly Outcome<A>[],
  log: Log,
): void {
  batch.forEach(({ resolve, reject }, i) => {
    try {
      resolve(valueOf(results[i] as Outcome<A>, log));
    } catch (error) {
      reject(error);
    }
  });
}

/**
 * The value of a task's result. A task whose worker died under it rejects with `whenDead`, to be tried again; one that
 * rejects with an AppError already stays so.
 */
export async function taskValue<T>(task: Promise<Outcome<T>>, whenDead: ErrorCode, log: Log): Promise<T> {
  let result: Outcome<T>;
  try {
    result = await task;
  } catch (error) {
    if (error instanceof AppError) throw error;
    log.warn({ reason: (error as Error).message }, 'a worker died with a task under way');
    throw new AppError(whenDead, undefined, { retryAfterS: 1 });
  }
  return valueOf(result, log);
}

/** Throws AppError, or WorkerFault, of the first that was not done: for callers that want all of them or none. */
export function assertStored(results: readonly Outcome<unknown>[]): void {
  for (const result of results) {
    if ('error' in result) throw AppError.fromWire(result.error);
    if ('fault' in result) throw new WorkerFault(result.fault);
  }
}
