// The claims of a verified token as an actor. Pure; called by tokens.ts.
// A claim of the wrong shape makes the token no good: what was meant as a restriction is never dropped.
import typia from 'typia';
import { AppError } from '../contract/errors.js';
import { SCOPES } from '../contract/tenants.js';
import type { Actor, Scope } from './actor.js';

/** The claims that mean something here; a token may have others. null counts as absent. */
interface Claims {
  sub?: string | null;
  admin?: boolean | null;
  /** Slugs; `"*"` for all. */
  tenants?: string | string[] | null;
  tenant?: string | null;
  /** A list, or words with spaces between; words that are no scope of ours are passed over. Absent: all. */
  scopes?: string | string[] | null;
  collections?: string[] | null;
  filters?: Record<string, unknown> | null;
}

const isClaims = typia.createIs<Claims>();
const NAME_CHARACTERS_MAX = 256;

/** Throws 401 `auth_invalid` for claims of the wrong shape. */
export function actorOfClaims(claims: object): Actor {
  if (!isClaims(claims)) throw new AppError('auth_invalid');
  const { collections, filters } = claims;
  // Who sees a part of a tenant only is nobody's admin.
  const admin = claims.admin === true && collections == null && filters == null;
  const tenants = admin ? undefined : tenantsOf(claims);
  const scopes =
    claims.scopes == null
      ? undefined
      : wordsOf(claims.scopes).filter((word): word is Scope => SCOPES.some((scope) => scope === word));
  return {
    name: claims.sub?.slice(0, NAME_CHARACTERS_MAX) || nameOf(admin, tenants),
    admin,
    ...(admin && { unlimited: true }),
    ...(tenants && { tenants }),
    ...(scopes && { scopes }),
    ...(collections && { collections }),
    ...(filters && { filters }),
  };
}

/** undefined for all. */
function tenantsOf({ tenants, tenant }: Claims): string[] | undefined {
  const named = [...(typeof tenants === 'string' ? [tenants] : (tenants ?? [])), ...(tenant == null ? [] : [tenant])];
  return named.includes('*') ? undefined : named;
}

const wordsOf = (words: string | readonly string[]): readonly string[] =>
  typeof words === 'string' ? words.split(' ') : words;

function nameOf(admin: boolean, tenants: readonly string[] | undefined): string {
  if (admin) return 'admin';
  return tenants?.length === 1 ? `tenant:${tenants[0]}` : 'token';
}
