// Limits of tenants: their values, the limiter of request rates and concurrent requests, and the ledger that enforces
// the number of chunks of a collection. Runs on front threads and on the main thread.
import { AppError } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { TenantQuotas } from '../../api/tenants.js';
import { type BucketRate, secondsFor } from '../../base/token-bucket.js';
import type { TenantLimits } from '../../config/config.js';
import { type Actor, type KeyLimits, type Permit, accountOf, burstFor } from './actor.js';
import { TenantSlots, type TenantSlotsMemory } from './tenant-slots.js';

/** Converts configured limits: 0 means no limit, and a burst of 0 means twice the rate. */
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

/** The limits of a tenant with quotas: null inherits the configured limit, -1 means no limit. */
export function limitsUnder(quotas: TenantQuotas, configured: TenantLimits): TenantLimits {
  const own = (quota: number | null, inherited: number): number =>
    quota === null ? inherited : quota === -1 ? Infinity : quota;
  const requestsPerSecond = own(quotas.requests_per_second, configured.requestsPerSecond);
  // A tenant with a rate of its own gets a matching burst, because the configured burst could defeat that rate.
  const inheritedBurst = quotas.requests_per_second === null ? configured.burst : burstFor(requestsPerSecond);
  return {
    requestsPerSecond,
    burst: own(quotas.burst, inheritedBurst),
    inFlightMax: own(quotas.max_in_flight, configured.inFlightMax),
    collectionsMax: own(quotas.max_collections, configured.collectionsMax),
    chunksPerCollectionMax: own(quotas.max_chunks_per_collection, configured.chunksPerCollectionMax),
  };
}

/** A limit in the form of a quota: -1 for no limit. */
export const told = (limit: number): number => (limit === Infinity ? -1 : limit);

/** The limits in the form of quotas. */
export function limitsAnswer(limits: TenantLimits): Record<keyof TenantQuotas, number> {
  return {
    max_collections: told(limits.collectionsMax),
    max_chunks_per_collection: told(limits.chunksPerCollectionMax),
    requests_per_second: told(limits.requestsPerSecond),
    burst: told(limits.burst),
    max_in_flight: told(limits.inFlightMax),
  };
}

const UNLIMITED: Permit = { headers: {}, charge: () => undefined, release: () => undefined };
/** A slot becomes free when any request of the tenant ends, which cannot be predicted. */
const IN_FLIGHT_RETRY_S = 1;

/**
 * Enforces the rate and the number of concurrent requests of each tenant, over all threads that share the memory, so
 * that a busy tenant is rejected before it slows others down.
 */
export class TenantLimiter {
  private readonly slots: TenantSlots;

  /** `nowMs`: a clock that the threads share. `stripe`: the index of this thread. */
  constructor(
    private readonly limitsOf: (tenant: string) => TenantLimits,
    private readonly nowMs: () => number,
    memory: TenantSlotsMemory,
    stripe: number,
  ) {
    this.slots = new TenantSlots(memory, stripe);
  }

  /**
   * Admits a request to `tenant`, the tenant of the path; undefined if the path names none, then the account of the
   * actor counts. A key with limits of its own is held to those first, and its headers tell of them. Throws 429
   * `tenant_rate_limited`; a rejected request takes no token, except of its key if the tenant is over its limits.
   * Throws 503 `overloaded` if more tenants are active than the memory is for.
   */
  admit(actor: Actor, tenant: string | undefined): Permit {
    if (actor.unlimited) return UNLIMITED;
    const name = tenant ?? accountOf(actor);
    if (actor.limits === undefined) return this.enter(name, this.limitsOf(name), 'tenant');
    const ofKey = this.enter(actor.limits.account, actor.limits, 'key');
    try {
      return both(ofKey, this.enter(name, this.limitsOf(name), 'tenant'));
    } catch (error) {
      ofKey.release();
      throw error;
    }
  }

  private enter(name: string, limits: RequestLimits, whose: 'tenant' | 'key'): Permit {
    const rate = rateOf(limits);
    if (rate.perSecond === Infinity && limits.inFlightMax === Infinity) return UNLIMITED;
    const nowMs = this.nowMs();
    const { slot, inFlight } = this.slots.enter(name, limits.inFlightMax, rate, nowMs);
    if (inFlight === undefined) {
      const use = { tokens: this.slots.tokens(slot, rate, nowMs), inFlight: this.slots.total(slot) };
      throw clientError(use, limits, rate, `The ${whose} has too many requests in progress.`, IN_FLIGHT_RETRY_S);
    }
    const tokens = this.slots.take(slot, rate, nowMs);
    if (tokens < 1) {
      this.slots.leave(slot);
      const use = { tokens, inFlight: inFlight - 1 };
      throw clientError(use, limits, rate, `The ${whose} has too many requests.`, secondsFor(1 - tokens, rate));
    }
    const permit = {
      headers: headersOf({ tokens: tokens - 1, inFlight }, limits, rate),
      charge: (requests: number) => {
        const left = this.slots.spend(slot, requests, rate, nowMs);
        permit.headers = headersOf({ tokens: left, inFlight }, limits, rate);
      },
      release: () => this.slots.leave(slot),
    };
    return permit;
  }
}

type RequestLimits = Pick<KeyLimits, 'requestsPerSecond' | 'burst' | 'inFlightMax'>;

const both = (ofKey: Permit, ofTenant: Permit): Permit => ({
  get headers() {
    return ofKey.headers;
  },
  charge: (requests) => {
    ofKey.charge(requests);
    ofTenant.charge(requests);
  },
  release: () => {
    ofKey.release();
    ofTenant.release();
  },
});

/** What a tenant has left and uses. */
interface Use {
  readonly tokens: number;
  readonly inFlight: number;
}

/** An unlimited burst means an unlimited rate. */
const rateOf = ({ requestsPerSecond, burst }: RequestLimits): BucketRate => ({
  perSecond: burst === Infinity ? Infinity : requestsPerSecond,
  capacity: burst,
});

function clientError(
  use: Use,
  limits: RequestLimits,
  rate: BucketRate,
  message: string,
  retryAfterS: number,
): AppError {
  return new AppError('tenant_rate_limited', message, {
    headers: headersOf(use, limits, rate),
    retryAfterS: Math.max(1, Math.ceil(retryAfterS)),
  });
}

/** The headers describe the rate or, if there is none, the concurrent requests. */
function headersOf(
  { tokens, inFlight }: Use,
  { inFlightMax }: RequestLimits,
  rate: BucketRate,
): Record<string, string> {
  const isRated = rate.perSecond !== Infinity;
  const limit = isRated ? rate.capacity : inFlightMax;
  const remaining = Math.max(0, isRated ? Math.floor(tokens) : inFlightMax - inFlight);
  const reset = isRated ? secondsFor(rate.capacity - tokens, rate) : remaining === 0 ? IN_FLIGHT_RETRY_S : 0;
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil(reset)),
  };
}

interface Addition<T> {
  /** Number of chunks of the document. */
  readonly chunks: number;
  /** Maximum number of chunks of the collection. */
  readonly chunksMax: number;
  /** Counts the chunks of the collection over all shards. */
  readonly count: () => Promise<number>;
  /** Sends the document. The shard must reject it if the collection would grow by more than `room` chunks. */
  readonly send: (chunksLeft: number) => Promise<T>;
}

interface Account {
  /** Upper bound of the number of chunks of the collection; Infinity until it is counted. */
  bound: number;
  readonly underWay: Set<Promise<unknown>>;
  /** Number of documents that wait for a count, and a promise that serializes them. */
  waiting: number;
  lineEnd: Promise<unknown>;
}

const ACCOUNTS_MAX = 1024;

/**
 * Enforces the maximum number of chunks of each collection over all shards. It keeps an upper bound of each count, to
 * which every document adds all its chunks as if they were new. Only if a document may not fit by this bound are the
 * documents in flight awaited and the chunks counted. Documents that replace others therefore cause a count now and
 * then, but are never wrongly rejected.
 */
export class ChunkLedger {
  private readonly accounts = new Map<CollectionId, Account>();

  /**
   * Sends documents in the order of the calls. Rejects with the errors of `count` and `send`. Only writes that bypass
   * the ledger between two counts can exceed the limit.
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

  /** Wraps the promise in an object, so that the next document waits until this one is sent, not until it is stored. */
  private async afterCount<T>(account: Account, addition: Addition<T>): Promise<{ answer: Promise<T> }> {
    if (!fits(account, addition)) {
      await Promise.allSettled(account.underWay);
      account.bound = await addition.count();
    }
    const answer = this.sent(account, addition);
    // The caller handles the rejection; this prevents an unhandled rejection until then.
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

  /** Drops idle accounts; they are counted again when needed. */
  private dropIdle(): void {
    for (const [id, { underWay, waiting }] of this.accounts)
      if (underWay.size === 0 && waiting === 0) this.accounts.delete(id);
  }
}

const fits = ({ bound }: Account, { chunks, chunksMax }: Addition<unknown>): boolean => bound + chunks <= chunksMax;
