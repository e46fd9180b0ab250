// The queue in front of a worker pool. What is asked during one turn of the event loop travels in one message; while as
// many messages are in flight as may be, requests wait here, in one line for each tenant, and travel in the next ones:
// so concurrent writes come to share a commit. A queue at the worker is first come, first served; it is kept short.
// Front thread.
import { AppError, abandoned } from '../api/errors.js';
import type { Leaving } from '../base/signals.js';
import type { QueueMetrics } from './pool-metrics.js';

/**
 * Requests that wait for a shard, a search or an embedder; beyond that the server sheds load. It is more than all
 * requests of the default `limits.in_flight_max` can ask for at a time.
 */
export const REQUESTS_WAITING_MAX = 8192;

interface Waiting<T> {
  readonly item: T;
  /** In units of the queue: requests, chunks, bytes. At least 0. */
  readonly cost: number;
}

interface Line<T> {
  readonly key: string;
  readonly waiting: Waiting<T>[];
  /** What the line may still spend in this round. */
  credit: number;
}

/**
 * A line for each key, served in turn by the cost of what waits, so that a tenant with a long line delays nobody else.
 * Deficit round robin (Shreedhar and Varghese, 1995): a line whose turn comes is served while its credit covers the
 * cost of its head; else it gains one quantum and goes to the end. With equal costs that is one of each in turn. Within
 * a line: first come, first served. A line that is alone needs no credit; one that empties loses what it had.
 */
export class FairQueue<T> {
  private readonly lines = new Map<string, Line<T>>();
  private turns: Line<T>[] = [];
  private count = 0;

  /** `quantum`: the cost that each line may spend before the next one is served. */
  constructor(private readonly quantum: number) {}

  get size(): number {
    return this.count;
  }

  /** How many wait in the line of `key`. */
  waitingOf(key: string): number {
    return this.lines.get(key)?.waiting.length ?? 0;
  }

  push(key: string, item: T, cost: number): void {
    let line = this.lines.get(key);
    if (!line) {
      this.lines.set(key, (line = { key, waiting: [], credit: 0 }));
      this.turns.push(line);
    }
    line.waiting.push({ item, cost });
    this.count++;
  }

  /** Takes out the one whose turn it is; undefined when nothing waits. */
  shift(): Waiting<T> | undefined {
    for (let line = this.turns[0]; line !== undefined; line = this.turns[0]) {
      const head = line.waiting[0] as Waiting<T>;
      if (this.turns.length === 1 || line.credit >= head.cost) return this.serve(line, head);
      line.credit += this.quantum;
      this.turns.push(this.turns.shift() as Line<T>);
    }
    return undefined;
  }

  /**
   * Takes out one that is to be served no more, where it still waits; its line pays nothing for it. False where it did
   * not wait.
   */
  remove(key: string, item: T): boolean {
    const line = this.lines.get(key);
    const at = line?.waiting.findIndex((waiting) => waiting.item === item) ?? -1;
    if (!line || at < 0) return false;
    line.waiting.splice(at, 1);
    this.count--;
    if (line.waiting.length === 0) this.end(line);
    return true;
  }

  /** Takes out everything. */
  drain(): T[] {
    const all = this.turns.flatMap(({ waiting }) => waiting.map(({ item }) => item));
    this.lines.clear();
    this.turns = [];
    this.count = 0;
    return all;
  }

  private serve(line: Line<T>, head: Waiting<T>): Waiting<T> {
    line.waiting.shift();
    line.credit = Math.max(0, line.credit - head.cost);
    this.count--;
    if (line.waiting.length === 0) this.end(line);
    return head;
  }

  private end(line: Line<T>): void {
    this.lines.delete(line.key);
    this.turns.splice(this.turns.indexOf(line), 1);
  }
}

export interface PendingRequest<Q, A> {
  request: Q;
  resolve: (answer: A) => void;
  reject: (error: unknown) => void;
  sinceMs: number;
  /** It leaves the queue no more when its signal is aborted. */
  stopListening?: () => void;
}

export interface RequestQueueOptions<Q> {
  /** Requests in a message, at most; it may depend on how many wait, and on the messages in flight. */
  requestsMax: number | ((waiting: number, inFlight: number) => number);
  messagesInFlightMax: number;
  /** What a request costs a worker, in any unit; 1 where absent. */
  costOf?: (request: Q) => number;
  /** A message takes no further request once it has come to this cost. Absent: no bound. */
  costMax?: number;
  /** The cost that a tenant may spend before the next one is served; 1 where absent. */
  quantum?: number;
  /**
   * Requests that may wait, half of them of one tenant; beyond that a request is refused with 503 `overloaded`. Absent:
   * no bound.
   */
  waitingMax?: number;
  metrics?: QueueMetrics | undefined;
}

export class RequestQueue<Q, A> {
  private readonly waiting: FairQueue<PendingRequest<Q, A>>;
  private isScheduled = false;
  private inFlight = 0;

  /** `send` settles every request of the batch itself, and resolves when it has. It never rejects. */
  constructor(
    private readonly options: RequestQueueOptions<Q>,
    private readonly send: (batch: PendingRequest<Q, A>[]) => Promise<void>,
  ) {
    this.waiting = new FairQueue(options.quantum ?? 1);
  }

  /**
   * `tenant`: whose line it waits in. Requests of one tenant are sent in the order they were made. One whose signal is
   * aborted while it waits leaves at once: it is rejected, never sent, and counts for nothing. `answered` is called
   * with the answer when it comes, before those of requests that were sent after it; whoever awaits the promise may
   * come later than these.
   */
  ask(request: Q, tenant = '', signal?: Leaving, answered?: (answer: A) => void): Promise<A> {
    if (signal?.aborted) return Promise.reject(abandoned());
    const { waitingMax = Infinity, costOf } = this.options;
    const isFull = this.waiting.size >= waitingMax || this.waiting.waitingOf(tenant) >= waitingMax / 2;
    if (isFull) return Promise.reject(new AppError('overloaded', undefined, { retryAfterS: 1 }));
    return new Promise((resolve, reject) => {
      const settle = (answer: A): void => (answered?.(answer), resolve(answer));
      const pending: PendingRequest<Q, A> = {
        request,
        resolve: answered ? settle : resolve,
        reject,
        sinceMs: performance.now(),
      };
      if (signal) this.leaveWhenAborted(pending, tenant, signal);
      this.waiting.push(tenant, pending, costOf?.(request) ?? 1);
      this.count(1);
      this.schedule();
    });
  }

  /** Rejects all that has not been sent yet. */
  fail(error: unknown): void {
    for (const { reject, stopListening } of this.waiting.drain()) {
      this.count(-1);
      stopListening?.();
      reject(error);
    }
  }

  private leaveWhenAborted(pending: PendingRequest<Q, A>, tenant: string, signal: Leaving): void {
    const leave = (): void => {
      if (this.waiting.remove(tenant, pending)) this.count(-1);
      pending.reject(abandoned());
    };
    signal.addEventListener('abort', leave, { once: true });
    pending.stopListening = () => signal.removeEventListener('abort', leave);
  }

  private schedule(): void {
    if (this.isScheduled || this.waiting.size === 0 || this.inFlight >= this.options.messagesInFlightMax) return;
    this.isScheduled = true;
    setImmediate(() => this.flush());
  }

  private flush(): void {
    this.isScheduled = false;
    while (this.waiting.size > 0 && this.inFlight < this.options.messagesInFlightMax) {
      const batch = this.nextBatch();
      this.count(-batch.length);
      this.options.metrics?.sent(batch.map(({ sinceMs }) => sinceMs));
      this.inFlight++;
      void this.send(batch).then(() => {
        this.inFlight--;
        this.schedule();
      });
    }
  }

  private count(change: number): void {
    if (this.options.metrics) this.options.metrics.waiting += change;
  }

  private requestsMax(): number {
    const { requestsMax } = this.options;
    return typeof requestsMax === 'number' ? requestsMax : requestsMax(this.waiting.size, this.inFlight);
  }

  private nextBatch(): PendingRequest<Q, A>[] {
    const { costMax = Infinity } = this.options;
    const requestsMax = this.requestsMax();
    const batch: PendingRequest<Q, A>[] = [];
    for (let cost = 0; batch.length < requestsMax && cost < costMax; ) {
      const next = this.waiting.shift();
      if (!next) break;
      next.item.stopListening?.();
      batch.push(next.item);
      cost += next.cost;
    }
    return batch;
  }
}
