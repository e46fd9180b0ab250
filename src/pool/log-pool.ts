// The log workers: each thread owns a store of the query log, with its request queue. The commands of a worker run in
// order, one message at a time, so appends that arrive meanwhile share the next commit and a read sees all earlier
// appends. If a worker dies, its message is sent again to its successor; entries that are already stored are not added
// twice. Runs on the main thread.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { AppError, type Result } from '../api/errors.js';
import type { Log } from '../base/log.js';
import { logNames } from '../storage/data-directory.js';
import type { LogAnswer, LogCommand, LogCommands, LogOp, LogWorkerStart } from '../storage/query-log-commands.js';
import type { PoolMetrics } from './pool-metrics.js';
import { type PendingRequest, RequestQueue } from './request-queue.js';
import { WorkerError } from '../base/rpc.js';
import { WorkerPool, settleAll } from './worker-pool.js';

const COMMANDS_MAX = 1024;
const ATTEMPTS_MAX = 3;
const RETRY_MS = 50;

type Answer = LogAnswer<LogOp>;

interface LogPoolOptions extends Pick<LogWorkerStart, 'bounds' | 'meters' | 'readGates'> {
  /** The data directory. */
  directory: string;
  /** How many workers take new entries. Stores beyond them, of a server that had more, are read. */
  writers: number;
  log: Log;
  metrics?: PoolMetrics;
}

export class LogPool {
  private readonly workers: LogWorker[];
  private readonly writers: number;

  constructor({ directory, writers, ...options }: LogPoolOptions) {
    this.writers = writers;
    this.workers = logNames(directory, writers).map(
      (name, store) => new LogWorker({ ...options, store, directory: join(directory, name) }),
    );
  }

  /** The number of stores. */
  get size(): number {
    return this.workers.length;
  }

  /** Rejects with AppError (`storage_full`) or WorkerError. The request may be sent more than once. */
  request<O extends LogOp>(store: number, op: O, request: LogCommands[O]['request']): Promise<LogAnswer<O>> {
    return (this.workers[store] as LogWorker).request(op, request);
  }

  /** Sends a request to all workers. The answers are in the order of the stores. Rejects if one fails. */
  requestAll<O extends LogOp>(op: O, request: LogCommands[O]['request']): Promise<LogAnswer<O>[]> {
    return Promise.all(this.workers.map((worker) => worker.request(op, request)));
  }

  /** Sends entries to one of the workers; `turn` says which. */
  append(turn: number, request: LogCommands['append']['request']): Promise<null> {
    return this.request(turn % this.writers, 'append', request);
  }

  /** A port over which a front thread sends its entries to a worker, and which closes when that worker dies. */
  connect(front: number): MessagePort {
    return (this.workers[front % this.writers] as LogWorker).connect();
  }

  /** Terminates the threads, as a crash would. For tests. */
  async kill(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
  }

  /** Runs all queued commands, then closes the stores and ends the threads. Later commands are rejected. */
  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
  }
}

type LogWorkerOptions = Omit<LogPoolOptions, 'writers'> & Pick<LogWorkerStart, 'store'>;

class LogWorker {
  private readonly worker: WorkerPool;
  private readonly log: Log;
  private hasClosed = false;
  private readonly queue: RequestQueue<LogCommand, Answer>;

  constructor({ log, metrics, ...start }: LogWorkerOptions) {
    this.log = log;
    const starts = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.worker = new WorkerPool({
      program: new URL('../../workers/log/worker.js', import.meta.url),
      name: 'a log worker',
      threads: 1,
      workerData: { ...start, starts } satisfies LogWorkerStart,
      log,
    });
    metrics?.watch('log', this.worker);
    this.queue = new RequestQueue(
      { requestsMax: COMMANDS_MAX, messagesInFlightMax: 1, metrics: metrics?.queue('log', 'commands') },
      (batch) => this.send(batch),
    );
  }

  async request<O extends LogOp>(op: O, request: LogCommands[O]['request']): Promise<LogAnswer<O>> {
    if (this.hasClosed) throw new AppError('shutting_down', undefined, { retryAfterS: 1 });
    return (await this.queue.request({ op, ...request } as LogCommand)) as LogAnswer<O>;
  }

  /** The other end closes if the worker is gone before it has its end. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.worker.run(port1, { transferList: [port1] }).catch(() => port1.close());
    return port2;
  }

  async kill(): Promise<void> {
    await this.worker.kill();
  }

  async close(): Promise<void> {
    const closed = this.request('close', {});
    this.hasClosed = true;
    await closed.catch((error: unknown) => this.log.warn({ reason: String(error) }, 'the query log was not closed'));
    await this.worker.end();
  }

  private async send(batch: PendingRequest<LogCommand, Answer>[]): Promise<void> {
    const commands = batch.map(({ request }) => request);
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      try {
        settleAll(batch, (await this.worker.run(commands)) as Result<Answer>[], this.log);
        return;
      } catch (error) {
        this.log.warn({ attempt, reason: (error as Error).message }, 'a log worker died while running commands');
        await sleep(RETRY_MS);
      }
    }
    for (const { reject } of batch)
      reject(new WorkerError('a log worker died repeatedly while running these commands'));
  }
}
