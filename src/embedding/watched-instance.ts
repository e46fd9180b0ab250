// One embedder instance as the router sees it: how much it has under way, and whether it answers. A breaker opens after
// failures in a row; from then on nothing but probes reaches the instance, ever more rarely, until one is answered. One
// that has not answered since the start is probed the same way. While it answers nothing is asked for its own sake: a
// call may cost money. Made by embedders.ts; front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { circuitBreaker, CircuitState, ConsecutiveBreaker, ExponentialBackoff, handleWhen } from 'cockatiel';
import type { Leaving } from '../base/departure.js';
import type { Log } from '../base/log.js';
import type { EmbedderInstance } from '../contract/embedder.js';
import { AppError } from '../contract/errors.js';
import { abandoned } from '../contract/errors.js';

/** Calls that failed one after the other, each of them tried several times where that helps. */
const FAILURES_MAX = 5;
const PROBE_DELAY_MS = { initialDelay: 100, maxDelay: 30_000 };

export type InstanceState = 'untried' | 'usable' | 'broken';

export class WatchedInstance {
  /** Bytes of text, more or less. */
  underway = 0;
  private hasAnswered = false;
  private lastTold: boolean | undefined;
  private probing: Promise<void> | undefined;
  private isWatched = false;
  private readonly stop = new AbortController();
  // The probes keep the pace: whenever one comes, it is the test of an open breaker.
  private readonly breaker = circuitBreaker(handleWhen(isFailure), {
    breaker: new ConsecutiveBreaker(FAILURES_MAX),
    halfOpenAfter: 0,
  });

  /** `ask` embeds a short text. */
  constructor(
    readonly instance: EmbedderInstance,
    private readonly ask: (key: string) => Promise<unknown>,
    private readonly log: Log,
  ) {
    this.breaker.onBreak(() => void this.watch());
    void this.watch();
  }

  get state(): InstanceState {
    if (this.isBroken) return 'broken';
    return this.hasAnswered ? 'usable' : 'untried';
  }

  /** No call but a probe may be made. */
  get isBroken(): boolean {
    return this.breaker.state !== CircuitState.Closed;
  }

  /** Rejects as `work` does. What counts as a failure is below; where nobody waits any more nothing does. */
  async call<T>(bytes: number, work: (key: string) => Promise<T>, signal?: Leaving): Promise<T> {
    this.underway += bytes;
    try {
      const answer = await this.breaker.execute(() =>
        work(this.instance.key).catch((error: unknown) => Promise.reject(signal?.aborted ? abandoned() : error)),
      );
      if (!signal?.aborted && !this.isBroken) this.tell(true);
      return answer;
    } finally {
      this.underway -= bytes;
    }
  }

  /**
   * Asks whether it answers; those who want to know at the same time share the call. Rejects with
   * `embedder_unavailable`, whatever went wrong.
   */
  probe(): Promise<void> {
    const asked = (key: string): Promise<unknown> =>
      this.ask(key).catch(() => Promise.reject(new AppError('embedder_unavailable')));
    this.probing ??= this.call(0, asked)
      .then(() => undefined)
      .finally(() => (this.probing = undefined));
    return this.probing;
  }

  close(): void {
    this.stop.abort();
  }

  /** Probes until it is usable. */
  private async watch(): Promise<void> {
    if (this.isWatched) return;
    this.isWatched = true;
    const { signal } = this.stop;
    for (let pause = new ExponentialBackoff(PROBE_DELAY_MS).next(); !signal.aborted; pause = pause.next(undefined)) {
      await this.probe().catch(() => signal.aborted || this.tell(false));
      if (this.state === 'usable') break;
      await sleep(pause.duration, undefined, { signal, ref: false }).catch(() => undefined);
    }
    this.isWatched = false;
  }

  /** Logs what has changed. */
  private tell(answers: boolean): void {
    if (answers) this.hasAnswered = true;
    if (this.lastTold === answers) return;
    const { key, space } = this.instance;
    const fields = { embedder: key, space: space.vector_space_key };
    if (answers) this.log[this.lastTold === undefined ? 'debug' : 'info'](fields, 'an embedder answers');
    else this.log.warn(fields, 'an embedder does not answer; it is asked again from time to time');
    this.lastTold = answers;
  }
}

export const isUnavailable = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'embedder_unavailable';

/** One that says when to come back is busy, over its budget, or its worker is being replaced: it is not broken. */
const isFailure = (error: unknown): boolean => isUnavailable(error) && error.options.retryAfterS === undefined;
