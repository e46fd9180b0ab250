// The actor of a request: what it may do and see, and which account it is counted for.
import type { Scope } from '../../api/choices.js';

/** Restrictions of an actor within its tenants; an absent or null one does not restrict. */
interface Restrictions {
  readonly scopes?: readonly Scope[] | null | undefined;
  readonly collections?: readonly string[] | null | undefined;
  readonly filters?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Limits of one key, beside those of its tenant. Infinity: no limit. */
export interface KeyLimits {
  /** The name under which the requests of the key are counted, which no tenant can have. */
  readonly account: string;
  readonly requestsPerSecond: number;
  /** Requests that may come at once. */
  readonly burst: number;
  readonly inFlightMax: number;
}

export interface Actor {
  /** The name that the query log records. */
  readonly name: string;
  readonly admin: boolean;
  /** True if tenant limits do not apply; set for the admin when keys are in use. */
  readonly unlimited?: boolean;
  /** Limits of the key itself; undefined for none. */
  readonly limits?: KeyLimits;
  /** The tenants that the key is valid for; undefined for all. */
  readonly tenants?: readonly string[];
  /** The granted scopes; undefined for all. */
  readonly scopes?: readonly Scope[];
  /** The collections that the key may access; undefined for all. */
  readonly collections?: readonly string[];
  /** Metadata filters that are combined with every search of this actor by AND. */
  readonly filters?: Readonly<Record<string, unknown>>;
}

/** The limits of a key as they are configured and stored; an absent or null one does not limit. */
export interface KeyQuotas {
  readonly requests_per_second?: number | null | undefined;
  readonly burst?: number | null | undefined;
  readonly max_in_flight?: number | null | undefined;
}

/** The actor of a configured or stored key with the given digest. */
export const actorOf = (
  { name, tenant, ...key }: { name: string; tenant: string } & Restrictions & KeyQuotas,
  digest: string,
): Actor => {
  const limits = keyLimits(key, digest);
  return { name, admin: false, tenants: [tenant], ...restricted(key), ...(limits && { limits }) };
};

function keyLimits({ requests_per_second: rate, burst, max_in_flight: inFlight }: KeyQuotas, digest: string) {
  if (rate == null && inFlight == null) return undefined;
  return {
    account: `key:${digest}`,
    requestsPerSecond: rate ?? Infinity,
    burst: rate == null ? Infinity : (burst ?? burstFor(rate)),
    inFlightMax: inFlight ?? Infinity,
  };
}

/** The default burst of a rate: twice the rate but at least one request; 0 for a rate of 0. */
export const burstFor = (perSecond: number): number => (perSecond === 0 ? 0 : Math.max(1, Math.ceil(perSecond * 2)));

export const restricted = ({
  scopes,
  collections,
  filters,
}: Restrictions): Pick<Actor, 'scopes' | 'collections' | 'filters'> => ({
  ...(scopes && { scopes }),
  ...(collections && { collections }),
  ...(filters && { filters }),
});

export interface Credentials {
  /** The header value by its lower-case name; '' when absent. */
  header(name: string): string;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * The account of a request whose path names no tenant: the only tenant of the actor, else `@` and the name of the
 * actor, which no tenant can have.
 */
export const accountOf = ({ tenants, name }: Actor): string =>
  tenants?.length === 1 ? (tenants[0] as string) : `@${name}`;

/** Whether the actor may access the collection. */
export const seesCollection = ({ collections }: Actor, name: string): boolean =>
  collections === undefined || collections.includes(name);

/** Admission of one request by the rate limiter. */
export interface Permit {
  /** X-RateLimit-Limit, -Remaining and -Reset, for every response to the request, including errors. */
  readonly headers: Readonly<Record<string, string>>;
  /** Counts further requests that came in this one, such as the searches of a batch. They may put the tenant in debt. */
  charge(requests: number): void;
  /** Must be called once, when the request has ended. */
  release(): void;
}
