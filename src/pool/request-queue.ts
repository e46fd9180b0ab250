// Gathers what is asked during one turn of the event loop into one message. A lane allows a few messages under way at a
// time: what comes meanwhile waits here, in one line a tenant (fair-queue.ts), and travels in the next ones, which is
// how concurrent writes come to share a commit. A queue at the worker would be first come, first served: there it is
// kept short. Front thread.
import { AppError, abandoned } from '../api/errors.js';
import type { Leaving } from '../base/signals.js';
import type { LaneMeter } from './pool-metrics.js';

// What waits for a worker, in one line for each tenant: they are served in turn, by the cost of what they ask, so that
// a tenant with a long line delays itself and nobody else. Pure; used by lane.ts on the front thread.

interface Waiting<T> {
  readonly item: T;
  /** In units of the lane: requests, chunks, bytes. At least 0. */
  readonly cost: number;
}

interface Line<T> {
  readonly key: string;
  readonly waiting: Waiting<T>[];
  /** What the line may still spend in this round. */
  credit: number;
}

/**
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

export interface Ask<Q, A> {
  request: Q;
  resolve: (answer: A) => void;
  reject: (error: unknown) => void;
  sinceMs: number;
  /** From now on it no longer leaves the line when its signal is aborted. */
  stay?: () => void;
}

export interface LaneOptions<Q> {
  /** At most this many requests in a message; it may depend on how many wait, and on the messages under way. */
  requestsMax: number | ((waiting: number, underway: number) => number);
  /** How many messages may be under way. */
  messagesMax: number;
  /** What a request costs a worker, in any unit; 1 where absent. */
  costOf?: (request: Q) => number;
  /** A message takes no further request once it has come to this cost. Absent: no bound. */
  costMax?: number;
  /** The cost that a tenant may spend before the next one is served; 1 where absent. */
  quantum?: number;
  /**
   * So many may wait, half of them of one tenant; beyond that an ask is refused with 503 `overloaded`. Absent: no
   * bound.
   */
  waitingMax?: number;
  /** Told of what waits and what is sent. */
  meter?: LaneMeter | undefined;
}

export class Lane<Q, A> {
  private readonly waiting: FairQueue<Ask<Q, A>>;
  private scheduled = false;
  private underway = 0;

  /** `send` settles every ask of the batch itself, and resolves when it has. It never rejects. */
  constructor(
    private readonly options: LaneOptions<Q>,
    private readonly send: (batch: Ask<Q, A>[]) => Promise<void>,
  ) {
    this.waiting = new FairQueue(options.quantum ?? 1);
  }

  get waitingCount(): number {
    return this.waiting.size;
  }

  /**
   * `tenant`: whose line it waits in. Asks of one tenant are sent in the order they were made. One whose signal is
   * aborted while it waits leaves at once: it is rejected, never sent, and counts for nothing. `answered` is called
   * with the answer when it comes, before those of asks that were sent after it; whoever awaits the promise may come
   * later than these.
   */
  ask(request: Q, tenant = '', signal?: Leaving, answered?: (answer: A) => void): Promise<A> {
    if (signal?.aborted) return Promise.reject(abandoned());
    const { waitingMax = Infinity, costOf } = this.options;
    const isFull = this.waiting.size >= waitingMax || this.waiting.waitingOf(tenant) >= waitingMax / 2;
    if (isFull) return Promise.reject(new AppError('overloaded', undefined, { retryAfterS: 1 }));
    return new Promise((resolve, reject) => {
      const settle = (answer: A): void => (answered?.(answer), resolve(answer));
      const ask: Ask<Q, A> = { request, resolve: answered ? settle : resolve, reject, sinceMs: performance.now() };
      if (signal) this.leaveWhenAborted(ask, tenant, signal);
      this.waiting.push(tenant, ask, costOf?.(request) ?? 1);
      this.count(1);
      this.schedule();
    });
  }

  /** Rejects all that has not been sent yet. */
  fail(error: unknown): void {
    for (const { reject, stay } of this.waiting.drain()) {
      this.count(-1);
      stay?.();
      reject(error);
    }
  }

  private leaveWhenAborted(ask: Ask<Q, A>, tenant: string, signal: Leaving): void {
    const leave = (): void => {
      if (this.waiting.remove(tenant, ask)) this.count(-1);
      ask.reject(abandoned());
    };
    signal.addEventListener('abort', leave, { once: true });
    ask.stay = () => signal.removeEventListener('abort', leave);
  }

  private schedule(): void {
    if (this.scheduled || this.waiting.size === 0 || this.underway >= this.options.messagesMax) return;
    this.scheduled = true;
    setImmediate(() => this.flush());
  }

  private flush(): void {
    this.scheduled = false;
    while (this.waiting.size > 0 && this.underway < this.options.messagesMax) {
      const message = this.nextMessage();
      this.count(-message.length);
      this.options.meter?.sent(message.map(({ sinceMs }) => sinceMs));
      this.underway++;
      void this.send(message).then(() => {
        this.underway--;
        this.schedule();
      });
    }
  }

  private count(change: number): void {
    if (this.options.meter) this.options.meter.waiting += change;
  }

  private requestsMax(): number {
    const { requestsMax } = this.options;
    return typeof requestsMax === 'number' ? requestsMax : requestsMax(this.waiting.size, this.underway);
  }

  private nextMessage(): Ask<Q, A>[] {
    const { costMax = Infinity } = this.options;
    const requestsMax = this.requestsMax();
    const batch: Ask<Q, A>[] = [];
    for (let cost = 0; batch.length < requestsMax && cost < costMax; ) {
      const next = this.waiting.shift();
      if (!next) break;
      next.item.stay?.();
      batch.push(next.item);
      cost += next.cost;
    }
    return batch;
  }
}
