// The pool of batch workers, which parse, extract and chunk documents off the main thread. It has two groups of
// threads, so that JSON and plain text never wait for a file that needs a parser. Runs on the main thread.
import { AppError, type Result } from '../api/errors.js';
import { ownBytes } from '../base/bytes.js';
import type { Log } from '../base/log.js';
import { createMemoryReport, reportedBytes } from '../base/thread.js';
import { SNIFF_BYTES_MAX, kindOfFile } from '../extract/file-kind.js';
import type {
  BatchWorkerStart,
  EncodedBody,
  LineSlice,
  PrepareAnswer,
  PrepareLinesRequest,
  PrepareRequest,
  PreparedLines,
  Reported,
  SplitBatchRequest,
} from '../extract/messages.js';
import { prepareBody } from '../extract/prepare.js';
import type { PoolMetrics } from './pool-metrics.js';
import { type PendingRequest, RequestQueue } from './request-queue.js';
import { WorkerPool, taskValue } from './worker-pool.js';

const MEBIBYTE = 2 ** 20;
const WAITING_MAX = 1024;
/** Bytes that are prepared for one tenant before the next one is served. */
const QUANTUM_BYTES = 256 * 1024;
/** What takes about a tenth of a millisecond: a vector of 384 numbers in JSON; a text, which is cut into sentences. */
const SHORT_VECTOR_BYTES = 8192;
const SHORT_TEXT_BYTES = 1024;
const WATCH_EVERY_MS = 100;
/** Memory that a thread needs to load its libraries. */
const WARM_UP_BYTES = 128 * MEBIBYTE;
/**
 * Heap limit of a thread in MB. Reaching it can end the whole process, because V8 can run out of memory again while
 * Node tears the thread down. It is therefore well above the limit of the resource watchdog, and only stops memory that
 * grows between two of its checks.
 */
const hardLimitMb = (memoryBytesMax: number): number => (2 * memoryBytesMax) / MEBIBYTE + 256;

/** Limits of one task, and of the text of one file. */
interface ParsingLimits extends BatchWorkerStart {
  /** Measured from the moment when a thread takes the task. */
  timeoutMs: number;
}

/** A function of workers/batch/worker.ts, its argument, and the bytes in it, which are transferred. */
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
 * A group of batch threads with its queue. A task that exceeds its time or memory limit is ended together with its
 * thread, which is replaced. That harms no other task, because tasks wait in this queue and not in the thread.
 */
class BatchWorkers {
  private readonly workers: WorkerPool;
  private readonly queue: RequestQueue<Task, unknown>;

  /** `name` is the name of the queue in the metrics. */
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
   * Runs a task when a thread is free. Rejects with the client error of the task, with `file_unreadable` if it exceeds
   * a limit, and with `overloaded` if the queue is full or the thread died for another reason. Aborting the signal
   * removes a waiting task from the queue.
   */
  run<T>(task: Task, tenant?: string, signal?: AbortSignal): Promise<T> {
    return this.queue.request(task, tenant, signal) as Promise<T>;
  }

  /** Terminates the threads, as a crash would. For tests. */
  async kill(): Promise<void> {
    await this.workers.kill();
  }

  /** Ends the threads and rejects the waiting tasks. */
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
    }) as Promise<Result<unknown>>;
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
 * The resource watchdog of a task: checks the time it takes and the memory of its isolate, which the thread reports
 * itself, so that memory of other threads does not count. Aborts with reason `time` or `memory`. A thread that is too
 * busy to report is stopped by its heap limit. Returns a function that ends the watch.
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

/**
 * Rethrows the error of a dead task; if the watchdog or the heap limit ended it, throws `file_unreadable`, which is not
 * retried.
 */
function refuseTooMuch(error: Error & { code?: string }, { aborted, reason }: AbortSignal): never {
  const isMemory = aborted ? reason === 'memory' : error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  if (!aborted && !isMemory) throw error;
  throw new AppError(
    'file_unreadable',
    `Reading the file takes ${isMemory ? 'more memory' : 'longer'} than the limit allows.`,
  );
}

export class BatchPool {
  /** JSON bodies, slices of batches and short plain text, which take milliseconds each. */
  private readonly light: BatchWorkers;
  /** Files that need a parser or are long, which may take up to the timeout. */
  private readonly parsing: BatchWorkers;

  /** `threads` is the number of threads in each of the two groups. */
  constructor(threads: number, limits: ParsingLimits, log: Log, metrics?: PoolMetrics) {
    this.light = new BatchWorkers('light', { threads, limits, log, metrics });
    this.parsing = new BatchWorkers('parsing', { threads, limits, log, metrics });
  }

  /**
   * Splits a document into chunks, a short one on this thread. The bytes of the body are transferred. Rejects with
   * AppError; with `overloaded` if the queue is full. `signal` cancels a waiting request.
   */
  prepare(request: PrepareRequest, tenant?: string, signal?: AbortSignal): Promise<PrepareAnswer> {
    const { body } = request;
    if (body.kind !== 'file' && isShort(body, request.space))
      return new Promise((resolve) => resolve(prepareBody(body, request)));
    const workers = isLight(body) ? this.light : this.parsing;
    const moved = 'bytes' in body ? ownBytes(body.bytes) : undefined;
    const message: PrepareRequest = moved ? { ...request, body: { ...body, bytes: moved } } : request;
    return workers.run({ name: 'prepare', message, moved }, tenant, signal);
  }

  /**
   * Splits the body of a batch into slices. Its bytes are transferred. Rejects with AppError if the body is not a
   * batch.
   */
  splitBatch(request: SplitBatchRequest, tenant?: string, signal?: AbortSignal): Promise<LineSlice[]> {
    const moved = ownBytes(request.bytes);
    return this.light.run({ name: 'splitBatch', message: { ...request, bytes: moved }, moved }, tenant, signal);
  }

  /** Prepares the items of a slice, whose bytes are transferred. Rejects with AppError if no item could be prepared. */
  prepareLines(request: PrepareLinesRequest, tenant?: string, signal?: AbortSignal): Promise<PreparedLines> {
    const moved = ownBytes(request.bytes);
    return this.light.run({ name: 'prepareLines', message: { ...request, bytes: moved }, moved }, tenant, signal);
  }

  /** Terminates the threads, as a crash would. For tests. */
  async kill(): Promise<void> {
    await Promise.all([this.light.kill(), this.parsing.kill()]);
  }

  async close(): Promise<void> {
    await Promise.all([this.light.close(), this.parsing.close()]);
  }
}

/** Whether a document is prepared sooner here than it would reach a thread. */
const isShort = ({ bytes }: EncodedBody, { embedder_type: embedder }: PrepareRequest['space']): boolean =>
  bytes.length <= (embedder === 'identity' ? SHORT_VECTOR_BYTES : SHORT_TEXT_BYTES);

function isLight(body: PrepareRequest['body']): boolean {
  if (body.kind !== 'file') return true;
  if (!('bytes' in body)) return false;
  const kind = kindOfFile(body.name, body.type, body.bytes.subarray(0, SNIFF_BYTES_MAX));
  return kind === undefined || kind === 'text' || kind === 'markdown';
}
