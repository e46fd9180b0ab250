// Authentication: turns the headers of a request, before its body is read, into an actor or an error. Accepts keys and,
// in mode jwt, tokens, which the jose library verifies. Errors do not tell why a key or token is invalid. Runs on front
// threads and on the main thread.
import { errors, jwtVerify } from 'jose';
import typia from 'typia';
import { AppError } from '../../api/errors.js';
import { SCOPES, type Scope } from '../../api/choices.js';
import type { Access } from '../../api/route.js';
import { type TokenKeys, digestOf } from '../../config/auth.js';
import { type Actor, type Credentials, restricted, seesCollection } from './actor.js';
import type { KeyRing } from './keys.js';

/** The claims that are used; a token may have others. null counts as absent. */
interface Claims {
  sub?: string | null;
  admin?: boolean | null;
  /** Tenant slugs; `"*"` for all. */
  tenants?: string | string[] | null;
  tenant?: string | null;
  /** A list, or names separated by spaces; unknown scopes are ignored. Absent for all. */
  scopes?: string | string[] | null;
  collections?: string[] | null;
  filters?: Record<string, unknown> | null;
}

const isClaims = typia.createIs<Claims>();
const NAME_CHARACTERS_MAX = 256;

/**
 * The actor of a verified token. Throws 401 `auth_invalid` for a claim of the wrong type, so that a malformed
 * restriction is never ignored.
 */
function actorOfClaims(claims: object): Actor {
  if (!isClaims(claims)) throw new AppError('auth_invalid');
  const { collections, filters } = claims;
  // A token that is restricted to some collections or by filters is never an admin.
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

/** Returns undefined for all tenants. */
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
  /** Required `iss` and `aud`; '' accepts any. */
  readonly issuer: string;
  readonly audience: string;
  readonly nowMs: () => number;
}

/** Tolerated difference between the clocks of issuer and server. */
const LEEWAY_S = 30;
const REMEMBERED_MAX = 10_000;
/** Tokens of a key that is removed from the JWKS file are rejected after this time at the latest. */
const REMEMBERED_MS = 5 * 60_000;

/**
 * Whether the text has the form of a JWT: three base64url parts separated by dots. Keys of this server never have it.
 */
export const looksLikeToken = (presented: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(presented);

/**
 * Verifies tokens; caches each verified one by its SHA-256 digest for a while, so that later requests are authenticated
 * synchronously.
 */
export class TokenVerifier {
  private readonly remembered = new Map<string, { actor: Actor; untilMs: number }>();

  constructor(private readonly options: TokenVerifierOptions) {}

  /**
   * The actor of the token with this digest, synchronously if it was verified recently. Rejects with AppError 401
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

/** What authentication needs to know of a route. */
export interface Guarded {
  readonly access: Access;
  readonly scope?: Scope;
  readonly operation: string;
}

/**
 * Authenticates synchronously if possible. Throws, or rejects with, AppError 401 or 403, and 503 `not_ready` while keys
 * are being loaded.
 */
export type Authenticate = (request: Credentials, route: Guarded) => Actor | Promise<Actor>;

interface Known {
  readonly keys: Pick<KeyRing, 'find'>;
  /** Absent if tokens are not accepted. */
  readonly tokens?: TokenVerifier;
  /** Whether the stored keys have been loaded; before that, an unknown key may be valid. */
  readonly hasLoaded: () => boolean;
  readonly nowMs: () => number;
}

const ANYBODY: Actor = { name: 'anonymous', admin: true };
const NOBODY: Actor = { name: 'anonymous', admin: false };
/**
 * The operations that an actor with filters may use; others could reveal documents that the filters hide. Calls through
 * MCP are checked again by the operation they invoke.
 */
const FILTERED_OPERATIONS: ReadonlySet<string> = new Set([
  'search',
  'searchByQuery',
  'searchBatch',
  'searchCollections',
  'mcp',
  'whoami',
  'countChunks',
  'createEmbeddings',
]);

export const allowEverybody: Authenticate = () => ANYBODY;

/**
 * 401 `auth_invalid` without a valid key or token; 403 `auth_forbidden` or `admin_required` if the actor may not use
 * the route.
 */
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

/** Reads `Authorization: Bearer KEY` (scheme in any case) or `X-API-Key: KEY`; '' if there is none. */
function presentedKey(request: Credentials): string {
  const [scheme = '', key = ''] = request.header('authorization').trim().split(/\s+/, 2);
  return scheme.toLowerCase() === 'bearer' ? key : request.header('x-api-key').trim();
}

/** Returns the actor if it may use the route, else throws AppError 403. Restrictions apply to admins too. */
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
