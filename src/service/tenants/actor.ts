// Who calls a route, what that one may do and see, and whose account it goes to.
import type { Scope } from '../../api/choices.js';

/** What restricts an actor within its tenants; what is absent or null does not. */
interface Restrictions {
  readonly scopes?: readonly Scope[] | null | undefined;
  readonly collections?: readonly string[] | null | undefined;
  readonly filters?: Readonly<Record<string, unknown>> | null | undefined;
}

export interface Actor {
  /** For the search log. */
  readonly name: string;
  readonly admin: boolean;
  /** Whether the limits of tenants are not for this one: the admin, where there are keys. */
  readonly unlimited?: boolean;
  /** The tenants the key is good for; undefined for all. */
  readonly tenants?: readonly string[];
  /** undefined for all. */
  readonly scopes?: readonly Scope[];
  /** The collections the key sees; undefined for all. */
  readonly collections?: readonly string[];
  /** Metadata filters that are ANDed to every search of this actor. */
  readonly filters?: Readonly<Record<string, unknown>>;
}

/** A key, configured or made at run time, as what it lets its holder do. */
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
  /** Header value by lower-case name; '' when absent. */
  header(name: string): string;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Whom a request counts for whose path names no tenant: the actor's only one, else the actor, whose name then is no
 * slug.
 */
export const accountOf = ({ tenants, name }: Actor): string =>
  tenants?.length === 1 ? (tenants[0] as string) : `@${name}`;

/** Whether the actor's key names this collection, or names none at all. */
export const seesCollection = ({ collections }: Actor, name: string): boolean =>
  collections === undefined || collections.includes(name);

/** A tenant's place for one request under way. */
export interface Permit {
  /** X-RateLimit-Limit, -Remaining and -Reset, for every response of the request, errors too. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called once, when nothing of the request is under way any more. */
  release(): void;
}
