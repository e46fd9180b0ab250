// The log worker: one thread that owns the query log, with its request queue. Commands run in order, one message at a
// time, so appends that arrive meanwhile share the next commit and a read sees all earlier appends. If the worker dies,
// its message is sent again to its successor; entries that are already stored are not added twice. Runs on the main
// thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type Result } from '../api/errors.js';
import type { Log } from '../base/log.js';
import type { LogAnswer, LogCommand, LogCommands, LogOp, LogWorkerStart } from '../storage/query-log-commands.js';
import type { PoolMetrics } from './pool-metrics.js';
import { type PendingRequest, RequestQueue } from './request-queue.js';
import { WorkerError } from '../base/rpc.js';
import { WorkerPool, settleAll } from './worker-pool.js';

const COMMANDS_MAX = 1024;
const ATTEMPTS_MAX = 3;
const RETRY_MS = 50;

type Answer = LogAnswer<LogOp>;

interface LogPoolOptions extends Pick<LogWorkerStart, 'directory' | 'bounds' | 'meters' | 'readGates'> {
  log: Log;
  metrics?: PoolMetrics;
}

export class LogPool {
  private readonly worker: WorkerPool;
  private readonly log: Log;
  private hasClosed = false;
  private readonly queue: RequestQueue<LogCommand, Answer>;

  constructor({ log, metrics, ...store }: LogPoolOptions) {
    this.log = log;
    const starts = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.worker = new WorkerPool({
      program: new URL('../../workers/log/worker.js', import.meta.url),
      name: 'the log worker',
      threads: 1,
      workerData: { ...store, starts } satisfies LogWorkerStart,
      log,
    });
    metrics?.watch('log', this.worker);
    this.queue = new RequestQueue(
      { requestsMax: COMMANDS_MAX, messagesInFlightMax: 1, metrics: metrics?.queue('log', 'commands') },
      (batch) => this.send(batch),
    );
  }

  /** Rejects with AppError (`storage_full`) or WorkerError. The request may be sent more than once. */
  async request<O extends LogOp>(op: O, request: LogCommands[O]['request']): Promise<LogAnswer<O>> {
    if (this.hasClosed) throw new AppError('shutting_down', undefined, { retryAfterS: 1 });
    return (await this.queue.request({ op, ...request } as LogCommand)) as LogAnswer<O>;
  }

  /** Terminates the thread, as a crash would. For tests. */
  async kill(): Promise<void> {
    await this.worker.kill();
  }

  /** Runs all queued commands, then closes the store and ends the thread. Later commands are rejected. */
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
        this.log.warn({ attempt, reason: (error as Error).message }, 'the log worker died while running commands');
        await sleep(RETRY_MS);
      }
    }
    for (const { reject } of batch)
      reject(new WorkerError('the log worker died repeatedly while running these commands'));
  }
}
