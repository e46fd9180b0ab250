// A number of batch threads and what waits for them, in a line for each tenant. A task may take so much time and
// memory; one that takes more is ended with its thread, which is replaced, and harms no other: what waits stands here,
// not in the thread. Used by batch-pool.ts on the front thread.
import { fileURLToPath } from 'node:url';
import type { Log } from '../base/log.js';
import { createMemoryReport } from '../base/memory-report.js';
import { AppError } from '../contract/errors.js';
import type { Outcome } from '../contract/errors.js';
import type { BatchWorkerStart, Reported } from '../contract/prepare-messages.js';
import { watchExcess, type TaskLimits } from './excess-watch.js';
import { Lane, type Ask } from './lane.js';
import { LateThreads } from './late-threads.js';
import { settled } from './outcomes.js';
import type { PoolMeters } from './pool-meters.js';

const WAITING_MAX = 1024;
/** Bytes that a tenant may have prepared before the next one is served. */
const QUANTUM_BYTES = 256 * 1024;
/**
 * A heap at its hard limit may end the whole process: V8 can run out again while Node takes the dead thread apart. So
 * the limit stands well above what the watch allows, for what grows faster than it looks.
 */
const hardLimitMb = (memoryMb: number): number => 2 * memoryMb + 256;

/**
 * What a thread is asked for: a function of workers/batch/worker.ts, its argument, and the bytes in it, which are
 * moved.
 */
export interface Work {
  name: 'prepare' | 'splitBatch' | 'prepareLines';
  message: object;
  moved: Uint8Array<ArrayBuffer> | undefined;
}

/** The time of a task begins when its thread takes it. */
export interface CrewOptions extends TaskLimits {
  threads: number;
  start: BatchWorkerStart;
  log: Log;
  /** Of its lane. */
  name: string;
  meters?: PoolMeters | undefined;
}

export class Crew {
  private readonly threads: LateThreads;
  private readonly lane: Lane<Work, unknown>;

  constructor(private readonly options: CrewOptions) {
    const { threads, memoryMb, start, log, name, meters } = options;
    const threadOptions = {
      filename: fileURLToPath(new URL('../../workers/batch/worker.js', import.meta.url)),
      minThreads: threads,
      maxThreads: threads,
      atomics: 'async' as const,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: hardLimitMb(memoryMb) },
      workerData: start,
    };
    this.threads = new LateThreads(threadOptions, (piscina) =>
      piscina.on('error', (error: Error) => log.error({ fault: error.stack }, 'a batch worker died')),
    );
    meters?.watch('batch', this.threads);
    const costOf = ({ moved }: Work): number => moved?.byteLength ?? QUANTUM_BYTES;
    this.lane = new Lane(
      {
        requestsMax: 1,
        messagesMax: threads,
        waitingMax: WAITING_MAX,
        costOf,
        quantum: QUANTUM_BYTES,
        meter: meters?.lane('batch', name),
      },
      (batch) => this.send(batch),
    );
  }

  /**
   * Runs a task of workers/batch/worker.ts when a thread is free. Rejects with what the task was refused with;
   * `file_unreadable` where it takes too much time or memory; `overloaded` where too many wait or its thread died
   * otherwise. One whose signal is aborted while it waits leaves the line.
   */
  run<T>(work: Work, tenant?: string, signal?: AbortSignal): Promise<T> {
    return this.lane.ask(work, tenant, signal) as Promise<T>;
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await this.threads.kill();
  }

  /** Ends the threads; what waits is refused. */
  async close(): Promise<void> {
    this.lane.fail(new AppError('overloaded', undefined, { retryAfterS: 1 }));
    await this.threads.end();
  }

  private async send(batch: Ask<Work, unknown>[]): Promise<void> {
    for (const { request, resolve, reject } of batch) await this.perform(request).then(resolve, reject);
  }

  private async perform({ name, message, moved }: Work): Promise<unknown> {
    const excess = new AbortController();
    const report = createMemoryReport();
    const unwatch = watchExcess(excess, this.options, report);
    const task = this.threads.run({ ...message, report } satisfies Reported, {
      name,
      transferList: moved ? [moved.buffer] : [],
      signal: excess.signal,
    }) as Promise<Outcome<unknown>>;
    try {
      return await settled(
        task.catch((error: Error) => refuseExcess(error, excess.signal)),
        'overloaded',
        this.options.log,
      );
    } finally {
      unwatch();
    }
  }
}

/** A task that was ended for what it took is refused for good; another death is met as everywhere (outcomes.ts). */
function refuseExcess(
  error: Error & { code?: string },
  { aborted, reason }: AbortSignal,
): { error: ReturnType<AppError['toWire']> } {
  const isMemory = aborted ? reason === 'memory' : error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  if (!aborted && !isMemory) throw error;
  return {
    error: new AppError(
      'file_unreadable',
      `Reading the file takes ${isMemory ? 'more memory' : 'longer'} than a file may.`,
    ).toWire(),
  };
}
