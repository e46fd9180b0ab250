// The log worker: one thread that owns the query log, and the one lane to it. Everything goes through the lane in the
// order it was asked, one message at a time: appends that come meanwhile share the next commit, and a read sees what
// was appended before it. A message whose worker died is sent again to its successor; an entry that is there already is
// not added twice. Front thread; made by server.ts, asked by the query log (service/query-log.ts).
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Log } from '../base/log.js';
import { AppError, type Outcome } from '../api/errors.js';
import type {
  LogAnswer,
  LogBounds,
  LogCommand,
  LogCommands,
  LogOp,
  LogWorkerStart,
} from '../storage/query-log-commands.js';
import { Lane, type Ask } from './request-queue.js';
import { LoadedThreads, WorkerFault, settleAll } from './worker-pool.js';
import type { PoolMeters } from './pool-metrics.js';
import { sharedByStores } from '../engine/memory/shared-memory.js';

const COMMANDS_MAX = 1024;
const ATTEMPTS_MAX = 3;
const RETRY_MS = 50;

type Answer = LogAnswer<LogOp>;

export class LogPool {
  private readonly piscina: Piscina;
  private readonly threads: LoadedThreads;
  private hasClosed = false;
  private readonly lane: Lane<LogCommand, Answer>;

  constructor(
    directory: string,
    bounds: LogBounds,
    private readonly log: Log,
    pools?: PoolMeters,
    { meters, latches } = sharedByStores(0),
  ) {
    const start: LogWorkerStart = {
      directory,
      bounds,
      openings: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
      meters,
      latches,
    };
    this.piscina = new Piscina({
      filename: fileURLToPath(new URL('../../workers/log/worker.js', import.meta.url)),
      name: 'run',
      minThreads: 1,
      maxThreads: 1,
      atomics: 'async',
      recordTiming: false,
      workerData: start,
    });
    this.threads = new LoadedThreads(this.piscina);
    this.lane = new Lane(
      { requestsMax: COMMANDS_MAX, messagesMax: 1, meter: pools?.lane('log', 'commands') },
      (batch) => this.send(batch),
    );
    pools?.watch('log', this.piscina);
    this.piscina.on(
      'message',
      ({ fault }: { fault?: string }) =>
        fault !== undefined && log.error({ fault }, 'the log worker failed in the background'),
    );
    this.piscina.on('error', (error: Error) => log.error({ fault: error.stack }, 'the log worker died'));
  }

  /** Rejects with AppError (`storage_full`) or WorkerFault. The request may be sent more than once. */
  async ask<O extends LogOp>(op: O, request: LogCommands[O]['request']): Promise<LogAnswer<O>> {
    if (this.hasClosed) throw new AppError('shutting_down', undefined, { retryAfterS: 1 });
    return (await this.lane.ask({ op, ...request } as LogCommand)) as LogAnswer<O>;
  }

  /** Ends the thread, as a crash would: for tests. */
  async kill(): Promise<void> {
    await Promise.all(this.piscina.threads.map((thread) => thread.terminate()));
  }

  /** Runs what has been asked, then closes the store and ends the thread. What is asked afterwards is refused. */
  async close(): Promise<void> {
    const closed = this.ask('close', {});
    this.hasClosed = true;
    await closed.catch((error: unknown) => this.log.warn({ reason: String(error) }, 'the query log was not closed'));
    await this.threads.end();
  }

  private async send(batch: Ask<LogCommand, Answer>[]): Promise<void> {
    const commands = batch.map(({ request }) => request);
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      try {
        settleAll(batch, (await this.piscina.run(commands)) as Outcome<Answer>[], this.log);
        return;
      } catch (error) {
        this.log.warn({ attempt, reason: (error as Error).message }, 'the log worker died with commands under way');
        await sleep(RETRY_MS);
      }
    }
    for (const { reject } of batch) reject(new WorkerFault('the log worker dies of these commands'));
  }
}
