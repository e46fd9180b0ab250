// Tenants and keys at run time: for the admin alone.
// One list of routes, joined to the table by routes.ts.
import type { Context } from '../../service/context.js';
import { getKeys, getTenant, patchTenant, postKey, postTenant, removeKey, removeTenant } from '../endpoints/tenants.js';
import type { Route } from '../route.js';
import { admin, get, post, remove } from './kit.js';

const TENANTS = '/v1/admin/tenants';
const TENANT = `${TENANTS}/{tenant}`;
const KEYS = `${TENANT}/keys`;

export function tenantRoutes(context: Context): Route[] {
  return [
    admin(post('createTenant', TENANTS, [201, 400, 401, 403, 409, 422, 500, 503], postTenant(context))),
    admin(get('getTenant', TENANT, [200, 400, 401, 403, 404, 500], getTenant(context))),
    admin({
      ...post('updateTenant', TENANT, [200, 400, 401, 403, 404, 422, 500, 503], patchTenant(context)),
      method: 'PATCH',
    }),
    admin(remove('deleteTenant', TENANT, [200, 400, 401, 403, 404, 409, 422, 500, 503], removeTenant(context))),
    admin(get('listTenantKeys', KEYS, [200, 400, 401, 403, 404, 500], getKeys(context))),
    admin(post('createTenantKey', KEYS, [201, 400, 401, 403, 404, 409, 422, 500, 503], postKey(context))),
    admin(remove('revokeTenantKey', `${KEYS}/{key_id}`, [200, 400, 401, 403, 404, 500, 503], removeKey(context))),
  ];
}
