// The actor of a request: what it may do and see, and which account it is counted for.
import type { Scope } from '../../api/choices.js';

/** Restrictions of an actor within its tenants; an absent or null one does not restrict. */
interface Restrictions {
  readonly scopes?: readonly Scope[] | null | undefined;
  readonly collections?: readonly string[] | null | undefined;
  readonly filters?: Readonly<Record<string, unknown>> | null | undefined;
}

export interface Actor {
  /** The name that the query log records. */
  readonly name: string;
  readonly admin: boolean;
  /** True if tenant limits do not apply; set for the admin when keys are in use. */
  readonly unlimited?: boolean;
  /** The tenants that the key is valid for; undefined for all. */
  readonly tenants?: readonly string[];
  /** The granted scopes; undefined for all. */
  readonly scopes?: readonly Scope[];
  /** The collections that the key may access; undefined for all. */
  readonly collections?: readonly string[];
  /** Metadata filters that are combined with every search of this actor by AND. */
  readonly filters?: Readonly<Record<string, unknown>>;
}

/** The actor of a configured or stored key. */
export const actorOf = ({ name, tenant, ...key }: { name: string; tenant: string } & Restrictions): Actor => ({
  name,
  admin: false,
  tenants: [tenant],
  ...restricted(key),
});

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
