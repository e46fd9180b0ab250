// What a tenant may use: its limits, the limiter that keeps it to its rate and its requests under way, and the ledger
// that keeps its collections to their number of chunks. Front thread.
import { AppError } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { TenantQuotas } from '../../api/tenants.js';
import { type BucketRate, TokenBucket } from '../../base/token-bucket.js';
import type { TenantLimits } from '../../config/config.js';
import { type Actor, type Permit, accountOf } from './actor.js';

/** The limits as they are configured, where 0 is no limit; a burst of 0 is twice the rate. */
export function configuredLimits(configured: TenantLimits): TenantLimits {
  const open = (value: number): number => (value === 0 ? Infinity : value);
  const requestsPerSecond = open(configured.requestsPerSecond);
  return {
    requestsPerSecond,
    burst: configured.burst || burstFor(requestsPerSecond),
    inFlightMax: open(configured.inFlightMax),
    collectionsMax: open(configured.collectionsMax),
    chunksPerCollectionMax: open(configured.chunksPerCollectionMax),
  };
}

/** The limits of a tenant with quotas: null takes what is configured. */
export function limitsUnder(quotas: TenantQuotas, configured: TenantLimits): TenantLimits {
  const own = (quota: number | null, inherited: number): number =>
    quota === null ? inherited : quota === -1 ? Infinity : quota;
  const requestsPerSecond = own(quotas.requests_per_second, configured.requestsPerSecond);
  // A rate of the tenant's own goes with a burst of its own, so that the configured one does not undo it.
  const inheritedBurst = quotas.requests_per_second === null ? configured.burst : burstFor(requestsPerSecond);
  return {
    requestsPerSecond,
    burst: own(quotas.burst, inheritedBurst),
    inFlightMax: own(quotas.max_in_flight, configured.inFlightMax),
    collectionsMax: own(quotas.max_collections, configured.collectionsMax),
    chunksPerCollectionMax: own(quotas.max_chunks_per_collection, configured.chunksPerCollectionMax),
  };
}

/** Twice the rate, at least one request; none where none is allowed. */
const burstFor = (perSecond: number): number => (perSecond === 0 ? 0 : Math.max(1, Math.ceil(perSecond * 2)));

/** As quotas tell it: -1 for no limit. */
export function toldLimits(limits: TenantLimits): Record<keyof TenantQuotas, number> {
  const told = (value: number): number => (value === Infinity ? -1 : value);
  return {
    max_collections: told(limits.collectionsMax),
    max_chunks_per_collection: told(limits.chunksPerCollectionMax),
    requests_per_second: told(limits.requestsPerSecond),
    burst: told(limits.burst),
    max_in_flight: told(limits.inFlightMax),
  };
}

interface Use {
  readonly bucket: TokenBucket;
  inFlight: number;
}

const UNLIMITED: Permit = { headers: {}, release: () => undefined };
/** A place falls free when any request ends: soon, but nobody knows when. */
const IN_FLIGHT_RETRY_S = 1;
const SWEEP_MIN = 1024;

/**
 * Keeps each tenant to its rate and to its number of requests under way, so that a noisy one is refused before it slows
 * others down. A bucket that is full again is as good as none: those of idle tenants are dropped, and memory goes with
 * the busy ones.
 */
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

interface Addition<T> {
  /** Chunks of the document. */
  readonly chunks: number;
  /** How many its collection may have. */
  readonly chunksMax: number;
  /** Counts what the collection has, over all shards. */
  readonly count: () => Promise<number>;
  /** Sends the document, which is refused where it would make the collection grow by more than `room` chunks. */
  readonly send: (room: number) => Promise<T>;
}

interface Account {
  /** The collection has at most so many chunks; Infinity until it is counted. */
  bound: number;
  readonly underWay: Set<Promise<unknown>>;
  /** Documents that wait for a count, and the end of their line. */
  waiting: number;
  lineEnd: Promise<unknown>;
}

const ACCOUNTS_MAX = 1024;

/**
 * Holds each collection to the number of chunks it may have, over all shards. Keeps for each a bound that its count is
 * not over: every document counts as all new, and only when the bound says that it may not fit are those under way
 * waited for and the chunks counted. Documents that replace others therefore cost a count now and then, and never a
 * wrong refusal.
 */
export class ChunkLedger {
  private readonly accounts = new Map<CollectionId, Account>();

  /**
   * Sends a document, in the order of the calls. Rejects with what `count` or `send` rejects with. Only what bypasses
   * the ledger between a count and the next can take a collection over its limit.
   */
  async add<T>(id: CollectionId, addition: Addition<T>): Promise<T> {
    const account = this.accountOf(id);
    if (account.waiting === 0 && fits(account, addition)) return this.sent(account, addition);
    account.waiting += 1;
    const started = account.lineEnd
      .then(() => this.afterCount(account, addition))
      .finally(() => (account.waiting -= 1));
    account.lineEnd = started.catch(() => undefined);
    return (await started).answer;
  }

  /** Answers an object, so that the line moves on when the document has been sent and not when it is answered. */
  private async afterCount<T>(account: Account, addition: Addition<T>): Promise<{ answer: Promise<T> }> {
    if (!fits(account, addition)) {
      await Promise.allSettled(account.underWay);
      account.bound = await addition.count();
    }
    const answer = this.sent(account, addition);
    // It is the caller's to look at; until then it is not unhandled.
    answer.catch(() => undefined);
    return { answer };
  }

  private async sent<T>(account: Account, { chunks, chunksMax, send }: Addition<T>): Promise<T> {
    const answer = send(Math.max(0, chunksMax - account.bound));
    account.bound += chunks;
    account.underWay.add(answer);
    try {
      return await answer;
    } finally {
      account.underWay.delete(answer);
    }
  }

  private accountOf(id: CollectionId): Account {
    let account = this.accounts.get(id);
    if (!account) {
      if (this.accounts.size >= ACCOUNTS_MAX) this.dropIdle();
      this.accounts.set(
        id,
        (account = { bound: Infinity, underWay: new Set(), waiting: 0, lineEnd: Promise.resolve() }),
      );
    }
    return account;
  }

  /** What is dropped is counted again. */
  private dropIdle(): void {
    for (const [id, { underWay, waiting }] of this.accounts)
      if (underWay.size === 0 && waiting === 0) this.accounts.delete(id);
  }
}

const fits = ({ bound }: Account, { chunks, chunksMax }: Addition<unknown>): boolean => bound + chunks <= chunksMax;
