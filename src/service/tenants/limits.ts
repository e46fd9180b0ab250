// Keeps each tenant to its rate and to its number of requests under way, so that a noisy one is refused before it slows
// others down. Asked by the HTTP server for every request on a limited route, before the body is read; front thread.
// A bucket that is full again is as good as none: those of idle tenants are dropped, and memory goes with the busy
// ones.
import { AppError } from '../contract/errors.js';
import { accountOf, type Actor, type Permit } from './actor.js';
import type { TenantLimits } from './limits.js';
import { TokenBucket, type BucketRate } from '../base/token-bucket.js';

interface Use {
  readonly bucket: TokenBucket;
  inFlight: number;
}

const UNLIMITED: Permit = { headers: {}, release: () => undefined };
/** A place falls free when any request ends: soon, but nobody knows when. */
const IN_FLIGHT_RETRY_S = 1;
const SWEEP_MIN = 1024;

export class TenantLimiter {
  private readonly uses = new Map<string, Use>();
  private sweepAt = SWEEP_MIN;

  constructor(
    private readonly limitsOf: (tenant: string) => TenantLimits,
    private readonly nowMs: () => number,
  ) {}

  /**
   * Takes a place for a request to `tenant` (that of the path; undefined where the path has none: then the actor's only
   * tenant, else its name). Throws 429 `tenant_rate_limited`, which costs no token.
   */
  admit(actor: Actor, tenant: string | undefined): Permit {
    if (actor.unlimited) return UNLIMITED;
    const name = tenant ?? accountOf(actor);
    const limits = this.limitsOf(name);
    const rate = rateOf(limits);
    if (rate.perSecond === Infinity && limits.inFlightMax === Infinity) return UNLIMITED;
    const use = this.useOf(name, rate);
    use.bucket.fill(rate, this.nowMs());
    if (use.inFlight >= limits.inFlightMax)
      throw refusal(use, limits, rate, 'too many requests under way', IN_FLIGHT_RETRY_S);
    if (!use.bucket.take()) throw refusal(use, limits, rate, 'too many requests', use.bucket.secondsUntil(1, rate));
    use.inFlight += 1;
    return { headers: headersOf(use, limits, rate), release: () => void (use.inFlight -= 1) };
  }

  /** Tenants that are remembered now. */
  get size(): number {
    return this.uses.size;
  }

  private useOf(name: string, rate: BucketRate): Use {
    const present = this.uses.get(name);
    if (present) return present;
    if (this.uses.size >= this.sweepAt) this.sweep();
    const use = { bucket: new TokenBucket(rate, this.nowMs()), inFlight: 0 };
    this.uses.set(name, use);
    return use;
  }

  /** Each sweep is paid for by as many new tenants as it left. */
  private sweep(): void {
    for (const [name, use] of this.uses) {
      const rate = rateOf(this.limitsOf(name));
      use.bucket.fill(rate, this.nowMs());
      if (use.inFlight === 0 && use.bucket.remaining >= rate.capacity) this.uses.delete(name);
    }
    this.sweepAt = Math.max(SWEEP_MIN, 2 * this.uses.size);
  }
}

/** A burst without end is a rate without end. */
const rateOf = ({ requestsPerSecond, burst }: TenantLimits): BucketRate => ({
  perSecond: burst === Infinity ? Infinity : requestsPerSecond,
  capacity: burst,
});

function refusal(use: Use, limits: TenantLimits, rate: BucketRate, why: string, retryAfterS: number): AppError {
  return new AppError('tenant_rate_limited', `The tenant has ${why}.`, {
    headers: headersOf(use, limits, rate),
    retryAfterS: Math.max(1, Math.ceil(retryAfterS)),
  });
}

/** Tells of the rate; without one, of the places. */
function headersOf({ bucket, inFlight }: Use, { inFlightMax }: TenantLimits, rate: BucketRate): Record<string, string> {
  const isRated = rate.perSecond !== Infinity;
  const limit = isRated ? rate.capacity : inFlightMax;
  const remaining = isRated ? bucket.remaining : Math.max(0, inFlightMax - inFlight);
  const reset = isRated ? bucket.secondsUntil(rate.capacity, rate) : remaining === 0 ? IN_FLIGHT_RETRY_S : 0;
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil(reset)),
  };
}
