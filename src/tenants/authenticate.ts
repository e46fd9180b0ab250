// Who calls, and may they: from the headers of a request to an actor, or a refusal. Called by the HTTP server before a body
// is read. Pure but for the clock it is given.
import { AppError } from '../contract/errors.js';
import type { Access, Actor, Credentials, Scope } from './actor.js';
import type { KeyRing } from './keys.js';

/** Throws AppError 401 or 403. */
export type Authenticate = (request: Credentials, route: { readonly access: Access; readonly scope?: Scope }) => Actor;

const ANYBODY: Actor = { name: 'anonymous', admin: true };
const NOBODY: Actor = { name: 'anonymous', admin: false };

export const allowEverybody: Authenticate = () => ANYBODY;

/** Throws AppError 401 `auth_invalid` without a known key, 403 `auth_forbidden` or `admin_required` for the wrong one. */
export function authenticateByKey(keys: KeyRing, nowMs: () => number): Authenticate {
  return (request, { access }) => {
    if (access === 'public') return NOBODY;
    const holder = keys.find(presentedKey(request), nowMs());
    if (!holder) throw new AppError('auth_invalid');
    const actor: Actor = { name: holder.name, admin: holder.tenant === undefined, ...(holder.tenant === undefined ? {} : { tenants: [holder.tenant] }) };
    if (actor.admin || access === 'any') return actor;
    if (access !== 'tenant') throw new AppError('admin_required');
    if (!actor.tenants?.includes(request.params.tenant ?? '')) throw new AppError('auth_forbidden');
    return actor;
  };
}

/** `Authorization: Bearer KEY` (the scheme in any case) or `X-API-Key: KEY`; '' when there is none. */
function presentedKey(request: Credentials): string {
  const [scheme = '', key = ''] = request.header('authorization').trim().split(/\s+/, 2);
  return scheme.toLowerCase() === 'bearer' ? key : request.header('x-api-key').trim();
}
