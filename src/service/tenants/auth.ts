// Who calls, and may they: from the headers of a request to an actor, or a refusal. Called by the HTTP server before a
// body is read. Knows keys and, in mode jwt, tokens; says nothing of why one is no good.
import { AppError } from '../contract/errors.js';
import { seesCollection, type Access, type Actor, type Credentials, type Scope } from './actor.js';
import { digestOf, type KeyRing } from './keys.js';
import { looksLikeToken, type TokenVerifier } from './tokens.js';

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

export interface Known {
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
