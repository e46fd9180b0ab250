// The batch workers: parsing, extraction and chunking of documents, off the front thread, which stays free to answer.
// Two crews: JSON and plain text never wait behind a file that wants a parser. Front thread; made by server.ts, asked
// by the ingest use case.
import { fileURLToPath } from 'node:url';
import { AppError, type Outcome } from '../api/errors.js';
import { ownBytes } from '../base/bytes.js';
import type { Log } from '../base/log.js';
import { createMemoryReport, reportedBytes } from '../base/thread.js';
import { SNIFF_BYTES_MAX, kindOfFile } from '../extract/file-kind.js';
import type {
  BatchWorkerStart,
  LineSlice,
  PrepareAnswer,
  PrepareLinesRequest,
  PrepareRequest,
  PreparedLines,
  Reported,
  SplitBatchRequest,
} from '../extract/messages.js';
import type { PoolMeters } from './pool-metrics.js';
import { type Ask, Lane } from './request-queue.js';
import { LateThreads, settled } from './worker-pool.js';

// Watches what a task takes while it runs in another thread: time, and the memory of that thread's isolate as the thread
// tells it, so that a slow file is not refused for what others take meanwhile. A thread that does not come round to
// telling is held by the limit of its heap (crew.ts). Used by crew.ts on the front thread.

interface TaskLimits {
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
function watchExcess(
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

// A number of batch threads and what waits for them, in a line for each tenant. A task may take so much time and
// memory; one that takes more is ended with its thread, which is replaced, and harms no other: what waits stands here,
// not in the thread. Used by batch-pool.ts on the front thread.

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
interface Work {
  name: 'prepare' | 'splitBatch' | 'prepareLines';
  message: object;
  moved: Uint8Array<ArrayBuffer> | undefined;
}

/** The time of a task begins when its thread takes it. */
interface CrewOptions extends TaskLimits {
  threads: number;
  start: BatchWorkerStart;
  log: Log;
  /** Of its lane. */
  name: string;
  meters?: PoolMeters | undefined;
}

class Crew {
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

/** What one task may take, and how much text one file may give. */
interface ParsingLimits {
  timeoutMs: number;
  memoryMb: number;
  textBytesMax: number;
}

export class BatchPool {
  /** JSON bodies, slices of batches and short plain text: milliseconds each. */
  private readonly light: Crew;
  /** Files that want a parser, or are long: up to the timeout each. */
  private readonly parsing: Crew;

  /** `threads`: of each of the crews. */
  constructor(threads: number, { textBytesMax, ...limits }: ParsingLimits, log: Log, meters?: PoolMeters) {
    const options = {
      threads,
      ...limits,
      start: { textBytesMax, memoryBytesMax: limits.memoryMb * 2 ** 20 },
      log,
      meters,
    };
    this.light = new Crew({ ...options, name: 'light' });
    this.parsing = new Crew({ ...options, name: 'parsing' });
  }

  /**
   * Cuts a document into chunks. The body's bytes are moved. Rejects with AppError; `overloaded` when too many wait.
   * `signal`: nobody waits any more.
   */
  prepare(request: PrepareRequest, tenant?: string, signal?: AbortSignal): Promise<PrepareAnswer> {
    const { body } = request;
    const crew = isLight(body) ? this.light : this.parsing;
    const moved = 'bytes' in body ? ownBytes(body.bytes) : undefined;
    const message: PrepareRequest = moved ? { ...request, body: { ...body, bytes: moved } } : request;
    return crew.run({ name: 'prepare', message, moved }, tenant, signal);
  }

  /** Cuts the body of a JSON batch into slices. Its bytes are moved. Rejects with AppError where it is no batch. */
  splitBatch(request: SplitBatchRequest, tenant?: string, signal?: AbortSignal): Promise<LineSlice[]> {
    const moved = ownBytes(request.bytes);
    return this.light.run({ name: 'splitBatch', message: { ...request, bytes: moved }, moved }, tenant, signal);
  }

  /** Prepares the items of a slice, whose bytes are moved. Rejects with AppError where none of them could be. */
  prepareLines(request: PrepareLinesRequest, tenant?: string, signal?: AbortSignal): Promise<PreparedLines> {
    const moved = ownBytes(request.bytes);
    return this.light.run({ name: 'prepareLines', message: { ...request, bytes: moved }, moved }, tenant, signal);
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await Promise.all([this.light.kill(), this.parsing.kill()]);
  }

  async close(): Promise<void> {
    await Promise.all([this.light.close(), this.parsing.close()]);
  }
}

function isLight(body: PrepareRequest['body']): boolean {
  if (body.kind === 'json') return true;
  if (!('bytes' in body)) return false;
  const kind = kindOfFile(body.name, body.type, body.bytes.subarray(0, SNIFF_BYTES_MAX));
  return kind === undefined || kind === 'text' || kind === 'markdown';
}
