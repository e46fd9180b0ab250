// Shares a thread that serves sockets between tenants that have short synchronous work, such as searches and reads of
// about a millisecond at most. The first work of each tenant in a turn of the event loop runs at once; the rest waits, and
// tenants are served in turn for a millisecond between looks at the sockets. Front threads only.
import { abandoned } from '../api/errors.js';
import type { CancelSignal } from '../base/signals.js';
import { FairQueue } from '../pool/request-queue.js';

/** How long waiting work may run before the thread looks at its sockets again. */
const TURN_MS = 1;

interface Waiting {
  readonly run: () => void;
  readonly signal: CancelSignal | undefined;
  readonly reject: (error: unknown) => void;
}

export class FairTurns {
  private readonly waiting = new FairQueue<Waiting>(1);
  /** Tenants that have had a turn in this turn of the event loop; empty between turns. */
  private readonly served = new Set<string>();
  private isScheduled = false;

  /**
   * Calls `work` once it is the tenant's turn, which may be before this returns. Rejects if the signal
   * is triggered before.
   */
  run<T>(tenant: string, work: () => Promise<T>, signal?: CancelSignal): Promise<T> {
    this.schedule();
    if (this.waiting.size === 0 && !this.served.has(tenant)) {
      this.served.add(tenant);
      return work();
    }
    return new Promise((resolve, reject) => {
      this.waiting.push(tenant, { run: () => resolve(work()), signal, reject }, 1);
    });
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => this.turn());
  }

  private turn(): void {
    this.isScheduled = false;
    this.served.clear();
    const untilMs = performance.now() + TURN_MS;
    while (this.waiting.size > 0 && performance.now() < untilMs) {
      const { run, signal, reject } = (this.waiting.shift() as { item: Waiting }).item;
      if (signal?.aborted) reject(abandoned());
      else run();
    }
    if (this.waiting.size > 0) this.schedule();
  }
}
