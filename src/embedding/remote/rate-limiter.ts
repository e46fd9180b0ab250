// Admits the calls of one endpoint: bounded in number, within its budgets, and not while it has asked for a pause.
// Queries precede passages, which always leave a slot for them. A call that cannot begin in time fails as soon as that
// is known. Embed worker of role remote; single-threaded, so nothing is locked.
import { AppError } from '../../api/errors.js';
import type { EndpointMeter } from '../../base/meters.js';
import { type BucketRate, TokenBucket } from '../../base/token-bucket.js';
import type { EndpointSpec } from '../embedder-spec.js';
import type { Purpose } from '../embedder.js';

const MINUTE_S = 60;
/**
 * Share of the minute budget that may be spent at once. A bucket as large as the whole budget would allow twice the
 * budget in the first minute.
 */
const BURST_SHARE = 1 / 20;

/** Bounds spending within any sixty seconds and spreads it evenly. The caller passes the time. */
export class MinuteBudget {
  private readonly rate: BucketRate;
  private readonly bucket: TokenBucket;

  /** `largest` is the most that is spent at once; default: a full bucket. */
  constructor(perMinute: number, nowMs: number, largest?: number) {
    const capacity = Math.max(1, Math.floor(perMinute * BURST_SHARE));
    // Spending begins once one unit is available, and may go into debt. So all spends of a minute except the last sum
    // to at most the full bucket and the inflow, less one, and the last one to `largest`: less than perMinute + 1 in
    // total.
    const perSecond = Math.max(1, perMinute + 2 - capacity - (largest ?? capacity)) / MINUTE_S;
    this.rate = { perSecond, capacity };
    this.bucket = new TokenBucket(this.rate, nowMs);
  }

  /** The most that can be spent at once. */
  get capacity(): number {
    return this.rate.capacity;
  }

  /** Milliseconds until something can be spent. */
  msUntilOpen(nowMs: number): number {
    this.bucket.fill(this.rate, nowMs);
    return Math.ceil(this.bucket.secondsUntil(1, this.rate) * 1000);
  }

  /** A negative amount returns what was not spent after all. */
  spend(amount: number): void {
    this.bucket.spend(amount);
  }
}

interface WaitingCall {
  purpose: Purpose;
  untilMs: number;
  begin: () => number | undefined;
  settle: (hasEntered: boolean) => void;
  reject: (error: AppError) => void;
}

export class RateLimiter {
  private readonly callsMax: number;
  private readonly requests: MinuteBudget | undefined;
  private readonly tokens: MinuteBudget | undefined;
  private waiting: WaitingCall[] = [];
  private readonly inFlight: Record<Purpose, number> = { query: 0, passage: 0 };
  private restsUntilMs = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    {
      callsMax,
      requestsPerMinute,
      tokensPerMinute,
    }: Pick<EndpointSpec, 'callsMax' | 'requestsPerMinute' | 'tokensPerMinute'>,
    private readonly nowMs: () => number,
    private readonly meter?: EndpointMeter,
  ) {
    this.callsMax = callsMax;
    this.requests = requestsPerMinute > 0 ? new MinuteBudget(requestsPerMinute, nowMs(), 1) : undefined;
    this.tokens = tokensPerMinute > 0 ? new MinuteBudget(tokensPerMinute, nowMs()) : undefined;
  }

  /** Tokens that a call should not exceed, so that the budget holds. */
  get tokensMax(): number {
    return this.tokens?.capacity ?? Infinity;
  }

  /**
   * Resolves when the call may begin; each admitted call must be paired with `leave`. `begin` is called at that moment
   * and returns the tokens of the call, or undefined if there is nothing to call any more: then this resolves to false
   * and nothing is spent. Rejects with 503 `embedder_unavailable` if the call cannot begin before `untilMs`.
   */
  enter(purpose: Purpose, untilMs: number, begin: () => number | undefined): Promise<boolean> {
    return new Promise((settle, reject) => {
      this.waiting.push({ purpose, untilMs, begin, settle, reject });
      this.pump();
    });
  }

  leave(purpose: Purpose): void {
    this.inFlight[purpose]--;
    this.pump();
  }

  /** Admits no call for this time. */
  rest(ms: number): void {
    this.restsUntilMs = Math.max(this.restsUntilMs, this.nowMs() + ms);
    this.meter?.add('rests', 1);
    this.pump();
  }

  /** Corrects the budget by the difference between counted and estimated tokens. */
  correct(tokens: number): void {
    this.tokens?.spend(tokens);
  }

  /** Reads the clock once: with a second reading, a call could miss a slot that opens in between. */
  private pump(): void {
    const nowMs = this.nowMs();
    for (const purpose of ['query', 'passage'] as const) {
      while (this.hasPlace(purpose) && this.openAtMs(nowMs) <= nowMs) {
        const call = this.waiting.find((each) => each.purpose === purpose && each.untilMs >= nowMs);
        if (!call) break;
        this.take(call);
      }
    }
    this.refuseLate(nowMs);
    if (this.meter) this.meter.waiting = this.waiting.length;
    this.wakeInTime(nowMs);
  }

  private take(call: WaitingCall): void {
    this.waiting = this.waiting.filter((each) => each !== call);
    const tokens = call.begin();
    if (tokens !== undefined) {
      this.inFlight[call.purpose]++;
      this.requests?.spend(1);
      this.tokens?.spend(tokens);
      this.meter?.add('calls', 1);
    }
    call.settle(tokens !== undefined);
  }

  private refuseLate(nowMs: number): void {
    const openAtMs = this.openAtMs(nowMs);
    const isLate = ({ untilMs }: WaitingCall): boolean => untilMs < openAtMs || untilMs <= nowMs;
    const late = this.waiting.filter(isLate);
    this.waiting = this.waiting.filter((call) => !isLate(call));
    this.meter?.add('refused', late.length);
    const retryAfterS = Math.max(1, Math.ceil((openAtMs - nowMs) / 1000));
    for (const { reject } of late)
      reject(new AppError('embedder_unavailable', 'The embedder cannot take this call in time.', { retryAfterS }));
  }

  /** Sets a timer for the next time-dependent event; a slot that becomes free calls `pump` itself. */
  private wakeInTime(nowMs: number): void {
    clearTimeout(this.timer);
    if (this.waiting.length === 0) return;
    const openInMs = this.openAtMs(nowMs) - nowMs;
    const lateInMs = Math.min(...this.waiting.map(({ untilMs }) => untilMs)) - nowMs;
    this.timer = setTimeout(() => this.pump(), Math.max(1, openInMs > 0 ? Math.min(openInMs, lateInMs) : lateInMs));
  }

  private openAtMs(nowMs: number): number {
    const waitMs = Math.max(this.requests?.msUntilOpen(nowMs) ?? 0, this.tokens?.msUntilOpen(nowMs) ?? 0);
    return Math.max(this.restsUntilMs, nowMs + waitMs);
  }

  private hasPlace(purpose: Purpose): boolean {
    const { query, passage } = this.inFlight;
    if (query + passage >= this.callsMax) return false;
    return purpose === 'query' || passage < Math.max(1, this.callsMax - 1);
  }
}
