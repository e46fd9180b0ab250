// The embedder inventory, for the admin and for a tenant: every tenant may use every instance.
// Handlers on the front thread. The route table (routes.ts) names them.
import type { TenantEmbedderInventory } from '../../contract/api/tenants.js';
import { embedderInventory } from '../../service/embedder-inventory.js';
import type { Handler } from '../route.js';
import { tenantOf } from './path.js';

export const getEmbedders: Handler = async () => ({ status: 200, json: embedderInventory() });

export const getTenantEmbedders: Handler = async (request) => {
  const json: TenantEmbedderInventory = { tenant: tenantOf(request), ...embedderInventory() };
  return { status: 200, json };
};
