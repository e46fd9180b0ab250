// The pool of search workers. Each thread can search all shards, so any thread takes any search. Searches of one turn
// of the event loop are spread over the least busy threads, one message each; tenants are served in turn. Runs on the
// main thread.
import { type Result, shardUnavailable } from '../api/errors.js';
import type { Log } from '../base/log.js';
import type { CancelSignal } from '../base/signals.js';
import type { CollectionCount } from '../engine/search/count.js';
import type { Counted } from '../engine/search/facets.js';
import type { CollectionSearch, MissingIndexes, SearchResult, SearchWorkerStart } from '../engine/search/params.js';
import type { SearchStep, StepAnswer } from '../engine/search/step-messages.js';
import type { SharedShards } from '../engine/write/commands.js';
import type { PoolMetrics } from './pool-metrics.js';
import type { Quarantine } from './quarantine.js';
import { type PendingRequest, REQUESTS_WAITING_MAX, RequestQueue } from './request-queue.js';
import { WorkerPool, settleAll } from './worker-pool.js';

/**
 * Maximum number of searches per message. It is small, because messages at a thread are served in the order of arrival,
 * without fairness between tenants.
 */
const SEARCHES_MAX = 8;
/** The second message is available as soon as the thread has finished the first. */
const MESSAGES_PER_THREAD = 2;

interface SearchPoolOptions {
  threads: number;
  shared: SharedShards;
  /** Size of the payload cache of each thread; 0 disables it. */
  hitCacheBytes: number;
  log: Log;
  /** Called when a thread has ended, to release what it held as a reader of the shards. */
  exited: (threadId: number) => void;
  quarantine: Quarantine;
  metrics?: PoolMetrics;
}

type Asked = CollectionSearch | CollectionCount | SearchStep;
type Answered = SearchResult | Counted | StepAnswer;

export class SearchPool {
  readonly threads: number;
  private readonly workers: WorkerPool;
  private readonly queue: RequestQueue<Asked, Answered>;
  private inFlight = 0;
  private closing = false;

  constructor(private readonly options: SearchPoolOptions) {
    const { threads, shared, hitCacheBytes, log, exited, metrics } = options;
    this.threads = threads;
    this.workers = new WorkerPool({
      program: new URL('../../workers/search/worker.js', import.meta.url),
      name: 'a search worker',
      threads,
      workerData: { ...shared, hitCacheBytes } satisfies SearchWorkerStart,
      log,
      exited,
    });
    metrics?.watch('search', this.workers);
    this.queue = new RequestQueue(
      {
        requestsMax: (waiting, inFlight) => shareOf(waiting, inFlight, threads),
        messagesInFlightMax: MESSAGES_PER_THREAD * threads,
        waitingMax: REQUESTS_WAITING_MAX,
        metrics: metrics?.queue('search', 'searches'),
      },
      (batch) => this.send(batch),
    );
  }

  /**
   * Rejects with AppError (`shard_unavailable`, `overloaded`, a client error) or WorkerError. Aborting the signal
   * removes a waiting search from the queue.
   */
  async request(search: CollectionSearch, tenant: string, signal?: CancelSignal): Promise<SearchResult> {
    return (await this.ask(search, tenant, signal)) as SearchResult;
  }

  /** Rejects as `request` does. */
  async count(asked: CollectionCount, tenant: string, signal?: CancelSignal): Promise<Counted | MissingIndexes[]> {
    return (await this.ask(asked, tenant, signal)) as Counted | MissingIndexes[];
  }

  /** Takes a step of a search whose shards several nodes hold. Rejects as `request` does. */
  async step(step: SearchStep, tenant: string, signal?: CancelSignal): Promise<StepAnswer | MissingIndexes[]> {
    return (await this.ask(step, tenant, signal)) as StepAnswer | MissingIndexes[];
  }

  private async ask(asked: Asked, tenant: string, signal?: CancelSignal): Promise<Answered> {
    if (this.closing) throw shardUnavailable();
    return this.options.quarantine.watch(asked.collection.id, () => this.queue.request(asked, tenant, signal));
  }

  /** Terminates the threads, as a crash would. For tests. */
  async kill(): Promise<void> {
    await this.workers.kill();
  }

  /** Rejects waiting searches, and completes those in flight. Afterwards no thread reads any shard. */
  async close(): Promise<void> {
    this.closing = true;
    this.queue.fail(shardUnavailable());
    await this.workers.end();
  }

  private async send(batch: PendingRequest<Asked, Answered>[], isRepeated = false): Promise<void> {
    this.inFlight++;
    try {
      const results = (await this.workers.run(batch.map(({ request }) => request))) as Result<Answered>[];
      settleAll(batch, results, this.options.log);
    } catch (error) {
      this.options.log.warn({ reason: (error as Error).message }, 'a search worker died while running searches');
      // A search has no side effects, so it can be repeated on another thread.
      if (!isRepeated && !this.closing) await this.send(batch, true);
      else for (const { reject } of batch) reject(shardUnavailable());
    } finally {
      this.inFlight--;
    }
  }
}

/** The number of waiting searches for the next message, so that they are spread evenly over the free threads. */
function shareOf(waiting: number, inFlight: number, threads: number): number {
  const free = inFlight < threads ? threads - inFlight : MESSAGES_PER_THREAD * threads - inFlight;
  return Math.min(SEARCHES_MAX, Math.ceil(waiting / Math.max(1, free)));
}
