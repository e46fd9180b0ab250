// Lets the calls of one endpoint begin: so many at a time, within its budgets, and not while it has asked to be left
// alone. Queries go before passages, which always leave them a place. A call that cannot begin in time is refused as
// soon as that is known. Embed worker of role remote: one thread runs it, so nothing is locked.
import { AppError } from '../../api/errors.js';
import type { EndpointMeter } from '../../base/meters.js';
import { type BucketRate, TokenBucket } from '../../base/token-bucket.js';
import type { EndpointSpec } from '../embedder-spec.js';
import type { Purpose } from '../embedder.js';

const MINUTE_S = 60;
/**
 * What may be spent at once. A bucket as large as the whole budget would let through twice the budget in the first
 * minute.
 */
const BURST_SHARE = 1 / 20;

/** Never more than so much within any sixty seconds, spent evenly. The caller gives the time. */
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

  /** Tokens that a call should not go beyond, so that the budget holds. */
  get tokensMax(): number {
    return this.tokens?.capacity ?? Infinity;
  }

  /**
   * Resolves when the call may begin; whoever entered has to leave. `begin` is asked at that moment, and gives the
   * call's tokens, or undefined where there is nothing to call any more: then it resolves to false, and nothing is
   * spent. Rejects with 503 `embedder_unavailable` where the call cannot begin until `untilMs`.
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

  /** No call begins for so long. */
  rest(ms: number): void {
    this.restsUntilMs = Math.max(this.restsUntilMs, this.nowMs() + ms);
    this.meter?.add('rests', 1);
    this.pump();
  }

  /** The endpoint counted other tokens than were estimated. */
  correct(tokens: number): void {
    this.tokens?.spend(tokens);
  }

  /** Looks at the clock once: were it asked again, a gate that opens meanwhile would be waited for by nobody. */
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
      reject(new AppError('embedder_unavailable', 'The embedder has no room for this call in time.', { retryAfterS }));
  }

  /** A place that falls free tells by itself; the time has to be looked at. */
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
