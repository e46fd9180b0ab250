// The embedder inventory: for the admin all of it, for a tenant what it may use.
// Handlers on the front thread. The route table (routes.ts) names them.
import type { TenantEmbedderInventory } from '../../contract/api/tenants.js';
import type { Context } from '../../service/context.js';
import type { Handler } from '../route.js';
import { tenantOf } from './path.js';

export const getEmbedders =
  ({ embedders }: Context): Handler =>
  async () => ({ status: 200, json: embedders.inventory() });

export const getTenantEmbedders =
  ({ embedders }: Context): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const json: TenantEmbedderInventory = { tenant, ...embedders.inventory(tenant) };
    return { status: 200, json };
  };
