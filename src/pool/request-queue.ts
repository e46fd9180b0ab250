// The request queue in front of a worker pool. Requests of one turn of the event loop share a message. While the
// maximum number of messages is in flight, requests wait here, in one queue per tenant, and then share the next
// messages, so concurrent writes share a commit. Queues at the workers have no fairness and are kept short. Runs on
// front threads and on the main thread.
import { AppError, abandoned } from '../api/errors.js';
import type { CancelSignal } from '../base/signals.js';
import type { QueueMetrics } from './pool-metrics.js';

/**
 * Maximum number of requests that wait for a shard, a search or an embedder; beyond it, the server sheds load. It
 * exceeds what the default `limits.max_in_flight` requests can ask for at a time.
 */
export const REQUESTS_WAITING_MAX = 8192;

interface Waiting<T> {
  readonly item: T;
  /** In units of the queue: requests, chunks or bytes. At least 0. */
  readonly cost: number;
}

interface TenantQueue<T> {
  readonly key: string;
  readonly waiting: Waiting<T>[];
  /** The cost that the queue may still spend in this round. */
  credit: number;
}

/**
 * A queue per key, served by deficit round robin (Shreedhar and Varghese, 1995), so that a tenant with many requests
 * delays nobody else: while its credit covers the cost of its first item, a queue is served; else it gains one quantum
 * and moves to the end. With equal costs, one item of each queue is served in turn. Within a queue the order is first
 * come, first served. A queue that is alone needs no credit; one that becomes empty loses its credit.
 */
export class FairQueue<T> {
  private readonly queues = new Map<string, TenantQueue<T>>();
  private turns: TenantQueue<T>[] = [];
  private count = 0;

  /** `quantum` is the credit that a queue gains per round. */
  constructor(private readonly quantum: number) {}

  get size(): number {
    return this.count;
  }

  /** The number of items that wait under `key`. */
  waitingOf(key: string): number {
    return this.queues.get(key)?.waiting.length ?? 0;
  }

  push(key: string, item: T, cost: number): void {
    let queue = this.queues.get(key);
    if (!queue) {
      this.queues.set(key, (queue = { key, waiting: [], credit: 0 }));
      this.turns.push(queue);
    }
    queue.waiting.push({ item, cost });
    this.count++;
  }

  /** Removes and returns the next item; undefined if the queue is empty. */
  shift(): Waiting<T> | undefined {
    for (let queue = this.turns[0]; queue !== undefined; queue = this.turns[0]) {
      const head = queue.waiting[0] as Waiting<T>;
      if (this.turns.length === 1 || queue.credit >= head.cost) return this.serve(queue, head);
      queue.credit += this.quantum;
      this.turns.push(this.turns.shift() as TenantQueue<T>);
    }
    return undefined;
  }

  /** Removes a waiting item at no cost to its queue. Returns false if it is not waiting. */
  remove(key: string, item: T): boolean {
    const queue = this.queues.get(key);
    const at = queue?.waiting.findIndex((waiting) => waiting.item === item) ?? -1;
    if (!queue || at < 0) return false;
    queue.waiting.splice(at, 1);
    this.count--;
    if (queue.waiting.length === 0) this.end(queue);
    return true;
  }

  /** Removes and returns all items. */
  drain(): T[] {
    const all = this.turns.flatMap(({ waiting }) => waiting.map(({ item }) => item));
    this.queues.clear();
    this.turns = [];
    this.count = 0;
    return all;
  }

  private serve(queue: TenantQueue<T>, head: Waiting<T>): Waiting<T> {
    queue.waiting.shift();
    queue.credit = Math.max(0, queue.credit - head.cost);
    this.count--;
    if (queue.waiting.length === 0) this.end(queue);
    return head;
  }

  private end(queue: TenantQueue<T>): void {
    this.queues.delete(queue.key);
    this.turns.splice(this.turns.indexOf(queue), 1);
  }
}

export interface PendingRequest<Q, A> {
  request: Q;
  resolve: (answer: A) => void;
  reject: (error: unknown) => void;
  sinceMs: number;
  /** Removes the abort listener, once the request is sent. */
  stopListening?: () => void;
}

export interface RequestQueueOptions<Q> {
  /**
   * Maximum number of requests in a message; it may depend on the number of waiting requests and of messages in flight.
   */
  requestsMax: number | ((waiting: number, inFlight: number) => number);
  messagesInFlightMax: number;
  /** The cost of a request, in any unit; 1 if absent. */
  costOf?: (request: Q) => number;
  /** A message takes no further request once it has reached this cost. Absent for no bound. */
  costMax?: number;
  /** The cost that a tenant may spend before the next one is served; 1 if absent. */
  quantum?: number;
  /**
   * Maximum number of waiting requests, half of which may be of one tenant; further requests are rejected with 503
   * `overloaded`. Absent for no bound.
   */
  waitingMax?: number;
  metrics?: QueueMetrics | undefined;
}

export class RequestQueue<Q, A> {
  private readonly waiting: FairQueue<PendingRequest<Q, A>>;
  private isScheduled = false;
  private inFlight = 0;

  /** `send` must settle every request of the batch, then resolve. It must not reject. */
  constructor(
    private readonly options: RequestQueueOptions<Q>,
    private readonly send: (batch: PendingRequest<Q, A>[]) => Promise<void>,
  ) {
    this.waiting = new FairQueue(options.quantum ?? 1);
  }

  /**
   * Queues a request for `tenant`; requests of one tenant are sent in order. Aborting the signal rejects a request, and
   * removes it from the queue if it is still waiting. `answered` is called synchronously when the answer arrives, so in
   * the order of the answers, which awaiting the promise does not guarantee.
   */
  request(request: Q, tenant = '', signal?: CancelSignal, answered?: (answer: A) => void): Promise<A> {
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
      if (signal) this.removeWhenAborted(pending, tenant, signal);
      this.waiting.push(tenant, pending, costOf?.(request) ?? 1);
      this.count(1);
      this.schedule();
    });
  }

  /** Rejects all requests that have not been sent yet. */
  fail(error: unknown): void {
    for (const { reject, stopListening } of this.waiting.drain()) {
      this.count(-1);
      stopListening?.();
      reject(error);
    }
  }

  private removeWhenAborted(pending: PendingRequest<Q, A>, tenant: string, signal: CancelSignal): void {
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
