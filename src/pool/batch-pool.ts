// The batch workers parse, extract and chunk documents off the front thread, which stays free to answer. There are two
// groups of threads: JSON and plain text never wait behind a file that wants a parser. Front thread.
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
import type { PoolMetrics } from './pool-metrics.js';
import { type PendingRequest, RequestQueue } from './request-queue.js';
import { WorkerPool, taskValue } from './worker-pool.js';

const MEBIBYTE = 2 ** 20;
const WAITING_MAX = 1024;
/** Bytes that a tenant may have prepared before the next one is served. */
const QUANTUM_BYTES = 256 * 1024;
const WATCH_EVERY_MS = 100;
/** What a thread takes when it loads its libraries. */
const WARM_UP_BYTES = 128 * MEBIBYTE;
/**
 * A heap at its hard limit may end the whole process: V8 can run out again while Node takes the dead thread apart. So
 * the limit stands well above what the watchdog allows, for what grows faster than the watchdog looks.
 */
const hardLimitMb = (memoryBytesMax: number): number => (2 * memoryBytesMax) / MEBIBYTE + 256;

/** What one task may take, and how much text one file may give. */
interface ParsingLimits extends BatchWorkerStart {
  /** From when its thread takes the task. */
  timeoutMs: number;
}

/** A function of workers/batch/worker.ts, its argument, and the bytes in it, which are moved. */
interface Task {
  name: 'prepare' | 'splitBatch' | 'prepareLines';
  message: object;
  moved: Uint8Array<ArrayBuffer> | undefined;
}

interface BatchWorkersOptions {
  threads: number;
  limits: ParsingLimits;
  log: Log;
  metrics?: PoolMetrics | undefined;
}

/**
 * A group of batch threads with its queue. A task that takes more time or memory than it may is ended with its thread,
 * which is replaced, and harms no other: what waits stands here, not in the thread.
 */
class BatchWorkers {
  private readonly workers: WorkerPool;
  private readonly queue: RequestQueue<Task, unknown>;

  /** `name`: of its queue in the metrics. */
  constructor(
    name: string,
    private readonly options: BatchWorkersOptions,
  ) {
    const { threads, limits, log, metrics } = options;
    const { textBytesMax, memoryBytesMax } = limits;
    this.workers = new WorkerPool({
      program: new URL('../../workers/batch/worker.js', import.meta.url),
      name: 'a batch worker',
      threads,
      workerData: { textBytesMax, memoryBytesMax } satisfies BatchWorkerStart,
      log,
      isLazy: true,
      tasksPerThread: 1,
      resourceLimits: { maxOldGenerationSizeMb: hardLimitMb(memoryBytesMax) },
    });
    metrics?.watch('batch', this.workers);
    this.queue = new RequestQueue(
      {
        requestsMax: 1,
        messagesInFlightMax: threads,
        waitingMax: WAITING_MAX,
        costOf: ({ moved }) => moved?.byteLength ?? QUANTUM_BYTES,
        quantum: QUANTUM_BYTES,
        metrics: metrics?.queue('batch', name),
      },
      (batch) => this.send(batch),
    );
  }

  /**
   * Runs a task when a thread is free. Rejects with what the task was refused with; `file_unreadable` where it takes
   * too much time or memory; `overloaded` where too many wait or its thread died otherwise. One whose signal is aborted
   * while it waits leaves the queue.
   */
  run<T>(task: Task, tenant?: string, signal?: AbortSignal): Promise<T> {
    return this.queue.ask(task, tenant, signal) as Promise<T>;
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await this.workers.kill();
  }

  /** Ends the threads; what waits is refused. */
  async close(): Promise<void> {
    this.queue.fail(new AppError('overloaded', undefined, { retryAfterS: 1 }));
    await this.workers.end();
  }

  private async send(batch: PendingRequest<Task, unknown>[]): Promise<void> {
    const [{ request, resolve, reject }] = batch as [PendingRequest<Task, unknown>];
    await this.perform(request).then(resolve, reject);
  }

  private async perform({ name, message, moved }: Task): Promise<unknown> {
    const { limits, log } = this.options;
    const tooMuch = new AbortController();
    const report = createMemoryReport();
    const unwatch = watchResources(tooMuch, limits, report);
    const task = this.workers.run({ ...message, report } satisfies Reported, {
      name,
      transferList: moved ? [moved.buffer] : [],
      signal: tooMuch.signal,
    }) as Promise<Outcome<unknown>>;
    try {
      return await taskValue(
        task.catch((error: Error) => refuseTooMuch(error, tooMuch.signal)),
        'overloaded',
        log,
      );
    } finally {
      unwatch();
    }
  }
}

/**
 * Watches what a task takes while it runs in another thread: time, and the memory of that thread's isolate as the
 * thread reports it, so that a slow file is not refused for what others take meanwhile. It aborts, with `time` or
 * `memory` for a reason, what takes more than it may. A thread that does not come round to reporting is held by the
 * limit of its heap. The function that it answers ends the watch.
 */
function watchResources(
  tooMuch: AbortController,
  { timeoutMs, memoryBytesMax }: ParsingLimits,
  report: SharedArrayBuffer,
): () => void {
  const timeout = setTimeout(() => tooMuch.abort('time'), timeoutMs);
  const interval = setInterval(() => {
    if (reportedBytes(report) > memoryBytesMax + WARM_UP_BYTES) tooMuch.abort('memory');
  }, WATCH_EVERY_MS);
  return () => {
    clearTimeout(timeout);
    clearInterval(interval);
  };
}

/** A task that was ended for what it took is refused for good; another death is met as in every pool. */
function refuseTooMuch(error: Error & { code?: string }, { aborted, reason }: AbortSignal): never {
  const isMemory = aborted ? reason === 'memory' : error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  if (!aborted && !isMemory) throw error;
  throw new AppError(
    'file_unreadable',
    `Reading the file takes ${isMemory ? 'more memory' : 'longer'} than a file may.`,
  );
}

export class BatchPool {
  /** JSON bodies, slices of batches and short plain text: milliseconds each. */
  private readonly light: BatchWorkers;
  /** Files that want a parser, or are long: up to the timeout each. */
  private readonly parsing: BatchWorkers;

  /** `threads`: of each of the two groups. */
  constructor(threads: number, limits: ParsingLimits, log: Log, metrics?: PoolMetrics) {
    this.light = new BatchWorkers('light', { threads, limits, log, metrics });
    this.parsing = new BatchWorkers('parsing', { threads, limits, log, metrics });
  }

  /**
   * Cuts a document into chunks. The body's bytes are moved. Rejects with AppError; `overloaded` when too many wait.
   * `signal`: nobody waits any more.
   */
  prepare(request: PrepareRequest, tenant?: string, signal?: AbortSignal): Promise<PrepareAnswer> {
    const { body } = request;
    const workers = isLight(body) ? this.light : this.parsing;
    const moved = 'bytes' in body ? ownBytes(body.bytes) : undefined;
    const message: PrepareRequest = moved ? { ...request, body: { ...body, bytes: moved } } : request;
    return workers.run({ name: 'prepare', message, moved }, tenant, signal);
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
