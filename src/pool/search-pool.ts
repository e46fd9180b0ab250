// The search workers: threads that each search all shards, and of which any takes any search. What is asked in one turn
// of the event loop travels in one message a thread, to the least busy first; tenants are served in turn. Made by
// compose-context.ts; front thread.
import { Piscina } from 'piscina';
import type { Leaving } from '../base/signals.js';
import type { Log } from '../base/log.js';
import { AppError, type Outcome } from '../api/errors.js';
import type { SharedShards } from '../engine/write/commands.js';
import { clearReader } from '../engine/memory/ownership.js';
import type { SearchAnswer, SearchTask, SearchWorkerStart } from '../engine/search/params.js';
import { Lane, type Ask } from './request-queue.js';
import { LoadedThreads, settleAll, workerOptions } from './worker-pool.js';
import type { PoolMeters } from './pool-metrics.js';
import type { Quarantine } from './quarantine.js';

/** Beyond that the server sheds: more than all requests of the default `limits.in_flight_max` can ask for at a time. */
const WAITING_MAX = 8192;
/** What waits at a thread is first come, first served; so little does. */
const SEARCHES_MAX = 8;
/** While a thread works on one message, the next is there. */
const MESSAGES_PER_THREAD = 2;

export interface SearchPoolOptions {
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
  meters?: PoolMeters;
}

export class SearchPool {
  readonly threads: number;
  private readonly piscina: Piscina;
  private readonly loaded: LoadedThreads;
  private readonly lane: Lane<SearchTask, SearchAnswer>;
  /** Threads that may have a place among the readers of each memory. */
  private readonly known = new Set<number>();
  private underway = 0;
  private closing = false;

  constructor(private readonly options: SearchPoolOptions) {
    const { threads, shared, hitCacheBytes, log, meters } = options;
    this.threads = threads;
    const start: SearchWorkerStart = { ...shared, hitCacheBytes };
    this.piscina = new Piscina(workerOptions('search/worker.js', threads, start));
    this.loaded = new LoadedThreads(this.piscina);
    meters?.watch('search', this.piscina);
    this.piscina.on('workerCreate', ({ id }: { id: number }) => this.known.add(id));
    this.piscina.on('workerDestroy', () => this.clearDead());
    this.piscina.on(
      'error',
      (error: Error) => (log.error({ fault: error.stack }, 'a search worker died'), this.clearDead()),
    );
    this.lane = new Lane(
      {
        requestsMax: (waiting, underway) => shareOf(waiting, underway, threads),
        messagesMax: MESSAGES_PER_THREAD * threads,
        waitingMax: WAITING_MAX,
        meter: meters?.lane('search', 'searches'),
      },
      (batch) => this.send(batch),
    );
  }

  /** Threads that have nothing to do, nor will when all that waits is sent. */
  get idle(): number {
    return Math.max(0, this.threads - this.underway - this.lane.waitingCount);
  }

  /**
   * Rejects with AppError (`shard_unavailable`, `overloaded`, a refusal) or WorkerFault. One whose signal is aborted
   * while it waits leaves the line.
   */
  async ask(task: SearchTask, tenant: string, signal?: Leaving): Promise<SearchAnswer> {
    if (this.closing) throw unavailable();
    return this.options.quarantine.watch(task.search.collection.id, () => this.lane.ask(task, tenant, signal));
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await this.loaded.whenAll();
    await Promise.all(this.piscina.threads.map((thread) => thread.terminate()));
  }

  /** What waits is refused, what is under way is answered. After it no thread reads any shard. */
  async close(): Promise<void> {
    this.closing = true;
    this.lane.fail(unavailable());
    await this.loaded.end();
    this.clearDead();
  }

  private async send(batch: Ask<SearchTask, SearchAnswer>[], isRepeated = false): Promise<void> {
    this.underway++;
    try {
      const outcomes = (await this.piscina.run(batch.map(({ request }) => request))) as Outcome<SearchAnswer>[];
      settleAll(batch, outcomes, this.options.log);
    } catch (error) {
      this.options.log.warn({ reason: (error as Error).message }, 'a search worker died with searches under way');
      this.clearDead();
      // A search changes nothing: another thread may do it.
      if (!isRepeated && !this.closing) await this.send(batch, true);
      else for (const { reject } of batch) reject(unavailable());
    } finally {
      this.underway--;
    }
  }

  /** Frees what threads that are gone have held of the shards' memories. */
  private clearDead(): void {
    const alive = new Set(this.piscina.threads.map(({ threadId }) => threadId));
    for (const id of this.known) {
      if (alive.has(id)) continue;
      this.known.delete(id);
      for (const memory of this.options.shared.memories.flat()) clearReader(memory, id);
      if (!this.closing) this.options.died();
    }
  }
}

/**
 * How many of the searches that wait go in the next message: those of a turn are spread over the threads that have
 * nothing to do.
 */
function shareOf(waiting: number, underway: number, threads: number): number {
  const free = underway < threads ? threads - underway : MESSAGES_PER_THREAD * threads - underway;
  return Math.min(SEARCHES_MAX, Math.ceil(waiting / Math.max(1, free)));
}

const unavailable = (): AppError => new AppError('shard_unavailable', undefined, { retryAfterS: 1 });
