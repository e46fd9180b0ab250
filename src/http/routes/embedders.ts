// The inventory of embedder instances: for a tenant, and for the admin.
// Called by routes.ts at start.
import { getEmbedders, getTenantEmbedders } from '../endpoints/embedders.js';
import type { Context } from '../../service/context.js';
import type { Route } from '../route.js';
import { admin, get, READ } from './kit.js';

export function embedderRoutes(context: Context): Route[] {
  return [
    admin(get('listEmbeddersAsAdmin', '/v1/admin/embedders', [200, 401, 403, 500], getEmbedders(context))),
    get('listEmbedders', '/v1/embedders/{tenant}', READ, getTenantEmbedders(context)),
  ];
}
