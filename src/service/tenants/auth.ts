// Authentication: from the headers of a request, before its body is read, to an actor or a refusal, by keys and, in
// mode jwt, by tokens, which the jose library verifies. A refusal says nothing of why a key or token is no good. Front
// thread.
import { errors, jwtVerify } from 'jose';
import typia from 'typia';
import { AppError } from '../../api/errors.js';
import { SCOPES, type Scope } from '../../api/choices.js';
import type { Access } from '../../api/route.js';
import { type TokenKeys, digestOf } from '../../config/auth.js';
import { type Actor, type Credentials, restricted, seesCollection } from './actor.js';
import type { KeyRing } from './keys.js';

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

/**
 * The claims of a verified token as an actor. Throws 401 `auth_invalid` for a claim of the wrong shape: what was meant
 * as a restriction is never dropped.
 */
function actorOfClaims(claims: object): Actor {
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
    ...restricted({ scopes, collections, filters }),
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

export interface TokenVerifierOptions {
  readonly keys: TokenKeys;
  /** Wanted `iss` and `aud`; '' for any. */
  readonly issuer: string;
  readonly audience: string;
  readonly nowMs: () => number;
}

/** How far the clocks of issuer and server may be apart. */
const LEEWAY_S = 30;
const REMEMBERED_MAX = 10_000;
/** A key that is taken out of the JWKS file ends its tokens after this long at the latest. */
const REMEMBERED_MS = 5 * 60_000;

/** Three parts of base64url with points between: keys of ours never look like this. */
export const looksLikeToken = (presented: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(presented);

/** A verified token is remembered by its SHA-256 for a while, so that its next request is answered at once. */
export class TokenVerifier {
  private readonly remembered = new Map<string, { actor: Actor; untilMs: number }>();

  constructor(private readonly options: TokenVerifierOptions) {}

  /**
   * Whom the token with this digest speaks for; at once where it has been verified lately. Rejects with AppError 401
   * `auth_invalid`, without a reason.
   */
  verify(token: string, digest: string): Actor | Promise<Actor> {
    const known = this.remembered.get(digest);
    if (known && known.untilMs > this.options.nowMs()) return known.actor;
    this.remembered.delete(digest);
    return this.verifyAnew(token, digest);
  }

  private async verifyAnew(token: string, digest: string): Promise<Actor> {
    const { nowMs } = this.options;
    const claims = await this.claimsOf(token);
    const actor = actorOfClaims(claims);
    const expiresAtMs = claims.exp === undefined ? Infinity : (claims.exp + LEEWAY_S) * 1000;
    this.remember(digest, actor, Math.min(expiresAtMs, nowMs() + REMEMBERED_MS));
    return actor;
  }

  private async claimsOf(token: string): Promise<Record<string, unknown> & { exp?: number }> {
    const { keys, issuer, audience, nowMs } = this.options;
    const wanted = { ...(issuer && { issuer }), ...(audience && { audience }) };
    const verify = async (): Promise<Record<string, unknown>> => {
      const { key, algorithms } = keys.current(nowMs());
      const checks = {
        algorithms: [...algorithms],
        clockTolerance: LEEWAY_S,
        currentDate: new Date(nowMs()),
        ...wanted,
      };
      const verified = typeof key === 'function' ? jwtVerify(token, key, checks) : jwtVerify(token, key, checks);
      return (await verified).payload;
    };
    try {
      return await verify().catch((error: unknown) => {
        if (error instanceof errors.JWKSNoMatchingKey && keys.reread(nowMs())) return verify();
        throw error;
      });
    } catch {
      throw new AppError('auth_invalid');
    }
  }

  private remember(digest: string, actor: Actor, untilMs: number): void {
    const [oldest] = this.remembered.keys();
    if (this.remembered.size >= REMEMBERED_MAX && oldest !== undefined) this.remembered.delete(oldest);
    this.remembered.set(digest, { actor, untilMs });
  }
}

/** What authentication must know of a route. */
export interface Guarded {
  readonly access: Access;
  readonly scope?: Scope;
  readonly operation: string;
}

/**
 * Answers at once where it can. Throws, or rejects with, AppError 401 or 403; 503 `not_ready` while keys are still
 * being loaded.
 */
export type Authenticate = (request: Credentials, route: Guarded) => Actor | Promise<Actor>;

interface Known {
  readonly keys: KeyRing;
  /** Absent: tokens are no good here. */
  readonly tokens?: TokenVerifier;
  /** Whether the keys made at run time have come from the store: before that, an unknown key may yet be a good one. */
  readonly hasLoaded: () => boolean;
  readonly nowMs: () => number;
}

const ANYBODY: Actor = { name: 'anonymous', admin: true };
const NOBODY: Actor = { name: 'anonymous', admin: false };
/**
 * All that an actor with filters may do: anything else could show documents that the filters hide. What comes by MCP is
 * asked again, by what it is.
 */
const FILTERED_OPERATIONS: ReadonlySet<string> = new Set(['search', 'searchByQuery', 'mcp']);

export const allowEverybody: Authenticate = () => ANYBODY;

/** 401 `auth_invalid` without a known key or token, 403 `auth_forbidden` or `admin_required` for the wrong one. */
export function authenticateBy({ keys, tokens, hasLoaded, nowMs }: Known): Authenticate {
  return (request, route) => {
    if (route.access === 'public') return NOBODY;
    const presented = presentedKey(request);
    if (presented === '') throw new AppError('auth_invalid');
    const digest = digestOf(presented);
    const holder = keys.find(digest, nowMs());
    if (holder) return permitted(holder, request, route);
    if (tokens && looksLikeToken(presented)) {
      const actor = tokens.verify(presented, digest);
      return actor instanceof Promise
        ? actor.then((verified) => permitted(verified, request, route))
        : permitted(actor, request, route);
    }
    if (!hasLoaded()) throw new AppError('not_ready', undefined, { retryAfterS: 1 });
    throw new AppError('auth_invalid');
  };
}

/** `Authorization: Bearer KEY` (the scheme in any case) or `X-API-Key: KEY`; '' when there is none. */
function presentedKey(request: Credentials): string {
  const [scheme = '', key = ''] = request.header('authorization').trim().split(/\s+/, 2);
  return scheme.toLowerCase() === 'bearer' ? key : request.header('x-api-key').trim();
}

/** The actor, where it may do this, else AppError 403. Restrictions of a key or token hold for an admin's too. */
export function permitted(
  actor: Actor,
  { params }: Pick<Credentials, 'params'>,
  { access, scope, operation }: Guarded,
): Actor {
  if ((access === 'admin' || access === 'metrics') && !actor.admin) throw new AppError('admin_required');
  if (access === 'tenant' && actor.tenants && !actor.tenants.includes(params.tenant ?? ''))
    throw new AppError('auth_forbidden');
  if (scope && actor.scopes && !actor.scopes.includes(scope)) throw new AppError('auth_forbidden');
  const collection = params.name ?? params.collection;
  if (collection !== undefined && !seesCollection(actor, collection)) throw new AppError('auth_forbidden');
  if (actor.filters && !FILTERED_OPERATIONS.has(operation)) throw new AppError('auth_forbidden');
  return actor;
}
