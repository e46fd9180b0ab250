// Shorthands for the lines of the route table, and the status lists that many lines share (from the specification).
// Used by the other files of this folder.
import type { Handler, Route } from '../route.js';

export const READ = [200, 401, 403, 422, 429, 500];
export const READ_ONE = [200, 401, 403, 404, 422, 429, 500];
export const SEARCH = [200, 401, 403, 422, 429, 500, 503];

export const COLLECTION = '/v1/collections/{tenant}/{name}';

export function open(operation: string, path: string, statuses: readonly number[], handle: Handler): Route {
  return { operation, method: 'GET', path, access: 'public', statuses, body: 'none', handle };
}

/** A read; keys without the scope `search` have none. */
export function get(operation: string, path: string, statuses: readonly number[], handle: Handler): Route {
  return { operation, method: 'GET', path, access: 'tenant', scope: 'search', statuses, body: 'none', handle };
}

export function remove(operation: string, path: string, statuses: readonly number[], handle: Handler): Route {
  return { operation, method: 'DELETE', path, access: 'tenant', statuses, body: 'none', handle };
}

export function post(operation: string, path: string, statuses: readonly number[], handle: Handler): Route {
  return { operation, method: 'POST', path, access: 'tenant', statuses, body: 'json', handle };
}

/** For the admin alone. Scopes are of tenants' routes. */
export function admin({ scope: _scope, ...route }: Route): Route {
  return { ...route, access: 'admin' };
}
