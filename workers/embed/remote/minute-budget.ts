// A budget by the minute: never more than so much within any sixty seconds, spent evenly. Pure; the caller gives the
// time. Used by call-gate.ts for the requests and for the tokens of an endpoint; embed worker of role remote.
import { TokenBucket, type BucketRate } from '../../../src/base/token-bucket.js';

const MINUTE_S = 60;
/**
 * What may be spent at once. A bucket as large as the whole budget would let through twice the budget in the first
 * minute.
 */
const BURST_SHARE = 1 / 20;

export class MinuteBudget {
  private readonly rate: BucketRate;
  private readonly bucket: TokenBucket;

  /** `largest`: the most that is spent in one go; absent, a full bucket. */
  constructor(perMinute: number, nowMs: number, largest?: number) {
    const capacity = Math.max(1, Math.floor(perMinute * BURST_SHARE));
    // Spending begins while one is there, and may go into debt. So the spends of a minute but for the last one come to
    // at most the full bucket and what flows into it, less one; and the last one to `largest`: less than perMinute + 1
    // in all.
    const perSecond = Math.max(1, perMinute + 2 - capacity - (largest ?? capacity)) / MINUTE_S;
    this.rate = { perSecond, capacity };
    this.bucket = new TokenBucket(this.rate, nowMs);
  }

  /** The most to spend in one go. */
  get capacity(): number {
    return this.rate.capacity;
  }

  /** Milliseconds until something may be spent. */
  msUntilOpen(nowMs: number): number {
    this.bucket.fill(this.rate, nowMs);
    return Math.ceil(this.bucket.secondsUntil(1, this.rate) * 1000);
  }

  /** Less than nothing gives back what turned out not to be spent. */
  spend(amount: number): void {
    this.bucket.spend(amount);
  }
}
