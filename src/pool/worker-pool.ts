// Threads under Piscina that start with their first task, or when their owner says so: a start of the server spends
// nothing on what nobody has asked for. All of them start together, and from then on they are replaced when they die.
// Used by the pools whose work readiness does not wait for; front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { MessagePort, Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { AppError, type ErrorCode, type Outcome } from '../api/errors.js';
import { assert } from '../base/assert.js';
import type { LoadedNote, Log, LogNote } from '../base/log.js';
import type { Ask } from './request-queue.js';

// Answers of workers that this thread cannot read: a structured clone that is nested too deep for the stack here, for
// one. The port then tells of an error in place of the message, and Piscina listens for none: whoever asked would wait
// for ever. The message says no more than whose it was, so its thread is ended, and what it had under way is met as any
// death of a worker. No answer of ours is nested so deep; this is for the one that is. Front thread.

interface WorkerInfo {
  readonly worker: Worker;
  readonly port: MessagePort;
}

function endThreadsOfUnreadableAnswers(piscina: Piscina): void {
  piscina.on('workerCreate', (created: Record<symbol, WorkerInfo>) => {
    // Piscina keeps the port under a symbol of its own.
    const symbol = Object.getOwnPropertySymbols(created).find(({ description }) =>
      description?.endsWith('kWorkerData'),
    );
    const info = symbol && created[symbol];
    info?.port.on('messageerror', () => void info.worker.terminate());
  });
}

// Which threads of a pool have loaded their program. A thread that is ended while it loads takes the whole process with
// it: Node 20 asserts that a module which `require` links is linked, and the end of the thread leaves it half linked.
// So a pool is ended when its threads have loaded. Each worker tells of itself, as the last thing it does while it
// loads. Front thread.

const RECHECK_MS = 5;
/** Loading takes a second at most; a thread that hangs does not keep the server from stopping. */
const WAIT_MAX_MS = 10_000;

export class LoadedThreads {
  private readonly ids = new Set<number>();

  constructor(private readonly piscina: Piscina) {
    endThreadsOfUnreadableAnswers(piscina);
    piscina.on('message', (message: Partial<LoadedNote>) => {
      if (message.loaded !== undefined) this.ids.add(message.loaded);
    });
  }

  /** Resolves when every thread that the pool has now has loaded. */
  async whenAll(): Promise<void> {
    const untilMs = performance.now() + WAIT_MAX_MS;
    while (
      performance.now() < untilMs &&
      this.piscina.threads.some(({ threadId }) => threadId > 0 && !this.ids.has(threadId))
    )
      await sleep(RECHECK_MS);
  }

  /** Ends the threads. */
  async end(): Promise<void> {
    await this.whenAll();
    await this.piscina.destroy();
  }
}

// How worker threads are run under Piscina: always as many as there are, each taking whatever is sent to it, with
// timers and I/O going on while it is idle. Used by the pools that share work out themselves; front thread.

type PiscinaOptions = NonNullable<ConstructorParameters<typeof Piscina>[0]>;

/** `file`: below workers. `workerData`: given to each when it starts. */
export function workerOptions(file: string, threads: number, workerData: object): PiscinaOptions {
  return {
    filename: fileURLToPath(new URL(`../../workers/${file}`, import.meta.url)),
    name: 'run',
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: 1_000_000,
    atomics: 'async',
    recordTiming: false,
    workerData,
  };
}

export class LateThreads {
  private begun: { piscina: Piscina; loaded: LoadedThreads } | undefined;
  private hasEnded = false;

  /** `watch`: given the threads when they have begun. */
  constructor(
    private readonly options: PiscinaOptions,
    private readonly watch: (piscina: Piscina) => void,
  ) {}

  /** None before they have begun. */
  get threads(): Worker[] {
    return this.begun?.piscina.threads ?? [];
  }

  begin(): Piscina {
    assert(!this.hasEnded, 'threads that have ended are asked for nothing');
    if (!this.begun) {
      const piscina = new Piscina(this.options);
      this.begun = { piscina, loaded: new LoadedThreads(piscina) };
      this.watch(piscina);
    }
    return this.begun.piscina;
  }

  /** Rejects once they have ended, as where a thread dies: whoever asks has that to meet anyway. */
  async run(...task: Parameters<Piscina['run']>): Promise<unknown> {
    return this.begin().run(...task);
  }

  /** Ends them, as a crash would: for tests. */
  async kill(): Promise<void> {
    await this.begun?.loaded.whenAll();
    await Promise.all(this.threads.map((thread) => thread.terminate()));
  }

  async end(): Promise<void> {
    this.hasEnded = true;
    await this.begun?.loaded.end();
  }
}

// Turns what comes back from a worker into values and errors of this thread: the one place where errors cross threads.
// Used by the three pools, on the front thread.

/** A fault of ours in a worker. It has been logged; a client is told `internal_error`. */
export class WorkerFault extends Error {
  override readonly name = 'WorkerFault';
}

/** Logs what a worker wants logged; a message of another kind is let alone. */
export function logNote(log: Log, { level, fields, message }: Partial<LogNote>): void {
  if (level) log[level](fields ?? {}, message ?? '');
}

/** The value of an outcome. Throws AppError for a refusal, WorkerFault for a fault. */
function valueOf<T>(outcome: Outcome<T>, log: Log): T {
  if ('value' in outcome) return outcome.value;
  if ('error' in outcome) throw AppError.fromWire(outcome.error);
  log.error({ fault: outcome.fault }, 'a worker failed a command');
  throw new WorkerFault('a worker failed a command');
}

/** Answers each ask of a batch with its outcome; they stand in the same order. */
export function settleAll<Q, A>(batch: readonly Ask<Q, A>[], outcomes: readonly Outcome<A>[], log: Log): void {
  batch.forEach(({ resolve, reject }, i) => {
    try {
      resolve(valueOf(outcomes[i] as Outcome<A>, log));
    } catch (error) {
      reject(error);
    }
  });
}

/**
 * The value of a task's outcome. A task whose worker died under it is refused with `whenDead`, to be tried again; one
 * that is refused already stays so.
 */
export async function settled<T>(task: Promise<Outcome<T>>, whenDead: ErrorCode, log: Log): Promise<T> {
  let outcome: Outcome<T>;
  try {
    outcome = await task;
  } catch (error) {
    if (error instanceof AppError) throw error;
    log.warn({ reason: (error as Error).message }, 'a worker died with a task under way');
    throw new AppError(whenDead, undefined, { retryAfterS: 1 });
  }
  return valueOf(outcome, log);
}

/** Throws AppError, or WorkerFault, of the first that was not done: for whoever wants all of them or none. */
export function assertStored(outcomes: readonly Outcome<unknown>[]): void {
  for (const outcome of outcomes) {
    if ('error' in outcome) throw AppError.fromWire(outcome.error);
    if ('fault' in outcome) throw new WorkerFault(outcome.fault);
  }
}
