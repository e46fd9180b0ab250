// A token bucket: so many requests a second in the long run, and a burst at once. Pure; the caller gives the time. The
// algorithm is the one of ITU-T I.371 ("leaky bucket as a meter"), in tokens.

export interface BucketRate {
  /** Tokens that come back each second; Infinity for no bound, 0 for none. */
  readonly perSecond: number;
  /** Tokens that a full bucket holds. */
  readonly capacity: number;
}

/** Told where no time would be long enough. */
const NEVER_S = 3600;

export class TokenBucket {
  private tokens: number;

  constructor(
    rate: BucketRate,
    private filledAtMs: number,
  ) {
    this.tokens = rate.capacity;
  }

  /** Brings the bucket up to `nowMs`; a clock that goes back adds nothing. The rate may be another than before. */
  fill({ perSecond, capacity }: BucketRate, nowMs: number): void {
    const gained = perSecond === Infinity ? Infinity : (Math.max(0, nowMs - this.filledAtMs) / 1000) * perSecond;
    this.tokens = Math.min(capacity, this.tokens + gained);
    this.filledAtMs = nowMs;
  }

  /** Takes a token; false, and nothing taken, where there is none. */
  take(): boolean {
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }

  /** Takes tokens whether they are there or not, into debt; less than none gives some back. */
  spend(tokens: number): void {
    this.tokens -= tokens;
  }

  /** Whole tokens there now. */
  get remaining(): number {
    return Math.floor(this.tokens);
  }

  /** Seconds until `tokens` are there; at most an hour, which also stands for never. */
  secondsUntil(tokens: number, { perSecond }: BucketRate): number {
    const missing = Math.max(0, tokens - this.tokens);
    return missing === 0 ? 0 : Math.min(NEVER_S, missing / perSecond);
  }
}
