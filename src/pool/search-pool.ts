// The search workers: threads that each search all shards; any of them takes any search. What is asked in one turn of
// the event loop travels in one message a thread, to the least busy first; tenants are served in turn. Front thread.
import { type Outcome, shardUnavailable } from '../api/errors.js';
import type { Log } from '../base/log.js';
import type { Leaving } from '../base/signals.js';
import { clearReader } from '../engine/memory/ownership.js';
import type { CollectionSearch, SearchResult, SearchWorkerStart } from '../engine/search/params.js';
import type { SharedShards } from '../engine/write/commands.js';
import type { PoolMetrics } from './pool-metrics.js';
import type { Quarantine } from './quarantine.js';
import { type PendingRequest, REQUESTS_WAITING_MAX, RequestQueue } from './request-queue.js';
import { WorkerPool, settleAll } from './worker-pool.js';

/** What waits at a thread is first come, first served; so little does. */
const SEARCHES_MAX = 8;
/** While a thread works on one message, the next is there. */
const MESSAGES_PER_THREAD = 2;

interface SearchPoolOptions {
  threads: number;
  shared: SharedShards;
  /** A thread; 0 for none. */
  hitCacheBytes: number;
  log: Log;
  /**
   * Called when a thread has died: what it held of the memories is free by then, but for what only their owners can
   * mend.
   */
  died: () => void;
  quarantine: Quarantine;
  metrics?: PoolMetrics;
}

export class SearchPool {
  readonly threads: number;
  private readonly workers: WorkerPool;
  private readonly queue: RequestQueue<CollectionSearch, SearchResult>;
  private inFlight = 0;
  private closing = false;

  constructor(private readonly options: SearchPoolOptions) {
    const { threads, shared, hitCacheBytes, log, metrics } = options;
    this.threads = threads;
    this.workers = new WorkerPool({
      program: new URL('../../workers/search/worker.js', import.meta.url),
      name: 'a search worker',
      threads,
      workerData: { ...shared, hitCacheBytes } satisfies SearchWorkerStart,
      log,
      exited: (threadId) => this.clear(threadId),
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
   * Rejects with AppError (`shard_unavailable`, `overloaded`, a client error) or WorkerFault. One whose signal is
   * aborted while it waits leaves the queue.
   */
  async ask(search: CollectionSearch, tenant: string, signal?: Leaving): Promise<SearchResult> {
    if (this.closing) throw shardUnavailable();
    return this.options.quarantine.watch(search.collection.id, () => this.queue.ask(search, tenant, signal));
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await this.workers.kill();
  }

  /** What waits is refused, what is in flight is answered. After it no thread reads any shard. */
  async close(): Promise<void> {
    this.closing = true;
    this.queue.fail(shardUnavailable());
    await this.workers.end();
  }

  private async send(batch: PendingRequest<CollectionSearch, SearchResult>[], isRepeated = false): Promise<void> {
    this.inFlight++;
    try {
      const results = (await this.workers.run(batch.map(({ request }) => request))) as Outcome<SearchResult>[];
      settleAll(batch, results, this.options.log);
    } catch (error) {
      this.options.log.warn({ reason: (error as Error).message }, 'a search worker died with searches under way');
      // A search changes nothing: another thread may do it.
      if (!isRepeated && !this.closing) await this.send(batch, true);
      else for (const { reject } of batch) reject(shardUnavailable());
    } finally {
      this.inFlight--;
    }
  }

  /** Frees what a thread that has ended has held of the shards' memories. */
  private clear(threadId: number): void {
    for (const memory of this.options.shared.memories.flat()) clearReader(memory, threadId);
    if (!this.closing) this.options.died();
  }
}

/**
 * How many of the searches that wait go in the next message: those of a turn are spread over the threads that have
 * nothing to do.
 */
function shareOf(waiting: number, inFlight: number, threads: number): number {
  const free = inFlight < threads ? threads - inFlight : MESSAGES_PER_THREAD * threads - inFlight;
  return Math.min(SEARCHES_MAX, Math.ceil(waiting / Math.max(1, free)));
}
