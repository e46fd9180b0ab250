// A token bucket: limits the long-term rate of requests and allows bursts. The caller passes the time. Equivalent to
// ITU-T I.371 ("leaky bucket as a meter"), counted in tokens. Not shared between threads.

export interface BucketRate {
  /** Tokens that are added per second; Infinity for no limit, 0 for none. */
  readonly perSecond: number;
  /** Tokens in a full bucket. */
  readonly capacity: number;
}

/** Reported if no waiting time would suffice. */
const NEVER_S = 3600;

export class TokenBucket {
  private tokens: number;

  constructor(
    rate: BucketRate,
    private filledAtMs: number,
  ) {
    this.tokens = rate.capacity;
  }

  /** Adds the tokens gained up to `nowMs`; a clock that goes back adds none. The rate may change between calls. */
  fill({ perSecond, capacity }: BucketRate, nowMs: number): void {
    const gained = perSecond === Infinity ? Infinity : (Math.max(0, nowMs - this.filledAtMs) / 1000) * perSecond;
    this.tokens = Math.min(capacity, this.tokens + gained);
    this.filledAtMs = nowMs;
  }

  /** Takes a token; returns false, and takes nothing, if there is none. */
  take(): boolean {
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }

  /** Takes tokens unconditionally, into debt; a negative amount returns tokens. */
  spend(tokens: number): void {
    this.tokens -= tokens;
  }

  /** Number of whole tokens. */
  get remaining(): number {
    return Math.floor(this.tokens);
  }

  /** Seconds until `tokens` are available; at most an hour, which also stands for never. */
  secondsUntil(tokens: number, rate: BucketRate): number {
    return secondsFor(tokens - this.tokens, rate);
  }
}

/** Seconds in which so many tokens are added; at most an hour, which also stands for never. */
export const secondsFor = (tokens: number, { perSecond }: BucketRate): number =>
  tokens <= 0 ? 0 : Math.min(NEVER_S, tokens / perSecond);
