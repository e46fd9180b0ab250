// Reads after writes in a cluster: every answer of a node has a token in the header `X-Consistency`, and a request with
// such a token waits until this node has applied what the answer told of. `strong` stands for all answers of all nodes
// until now, `max-age=5` for all until five seconds ago. How old an answer may be is in `X-Consistency-Age`. Runs on
// front threads and on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, invalidField } from '../api/errors.js';
import { LogProgress, type SharedProgress } from '../base/log-progress.js';

const HEADER = 'X-Consistency';
const AGE_HEADER = 'X-Consistency-Age';
const STRONG = 'strong';
const MAX_AGE = /^max-age=(\d{1,6}(?:\.\d{1,3})?)$/;
/** A node that is further behind than this refuses the request, which another node may answer. */
const WAIT_MS = 1000;
const LOOK_MS = 2;

export class Consistency {
  private readonly progress: LogProgress;

  /** `barrier` resolves to a message that comes after everything that was acknowledged before the call. */
  constructor(
    shared: SharedProgress,
    private readonly barrier: () => Promise<number>,
  ) {
    this.progress = new LogProgress(shared);
  }

  get headers(): Readonly<Record<string, string>> {
    const ageMs = this.progress.ageMs(Date.now());
    return { [HEADER]: this.progress.token, [AGE_HEADER]: ageMs === undefined ? 'unknown' : (ageMs / 1000).toFixed(3) };
  }

  /**
   * Whether the node has applied what the token tells of, or is not older than it says; never for `strong`. Throws a 422
   * for what is no token of this cluster.
   */
  isReached(token: string): boolean {
    if (token === STRONG) return false;
    const [, maxAge] = MAX_AGE.exec(token) ?? [];
    if (maxAge !== undefined) return (this.progress.ageMs(Date.now()) ?? Infinity) <= 1000 * Number(maxAge);
    const sequence = this.progress.sequenceOf(token);
    if (sequence === undefined)
      throw invalidField(
        ['header', HEADER],
        'Send back what an answer of this cluster had in this header, or `strong`, or `max-age=` and seconds.',
        'value_error',
        token,
      );
    return this.progress.applied >= sequence;
  }

  /**
   * Resolves when the node has applied what the token tells of, or is not older than it says, or for `strong` everything
   * that has been acknowledged on any node until now. Rejects with 503 `node_behind` after a second.
   */
  async reached(token: string): Promise<void> {
    const barrier = token === STRONG ? await this.barrier() : undefined;
    const untilMs = performance.now() + WAIT_MS;
    while (barrier === undefined ? !this.isReached(token) : this.progress.applied < barrier) {
      if (performance.now() > untilMs) throw new AppError('node_behind', undefined, { retryAfterS: 1 });
      await sleep(LOOK_MS);
    }
  }
}
