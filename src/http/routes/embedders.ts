// The embedder inventory: for the admin all of it, for a tenant what it may use.
// Handlers on the front thread. The route table (routes.ts) names them.
import type { EmbedderInventory, TenantEmbedderInventory } from '../../api/tenants.js';
import type { Services } from '../../service/services.js';
import { type Operation, jsonAnswer } from '../openapi/operation.js';
import { type Handler, READ, type ListedRoute, admin, get, tenantOf } from '../route.js';

const getEmbedders =
  (embedders: Services['embedders']): Handler =>
  async () => ({ status: 200, json: embedders.inventory() });

const getTenantEmbedders =
  (embedders: Services['embedders']): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const json: TenantEmbedderInventory = { tenant, ...embedders.inventory(tenant) };
    return { status: 200, json };
  };

// The inventory of embedder instances: for a tenant, and for the admin.
// Called by routes.ts at start.

export function embedderRoutes(embedders: Services['embedders']): ListedRoute[] {
  return [
    admin(get('listEmbeddersAsAdmin', '/v1/admin/embedders', [200, 401, 403, 500], getEmbedders(embedders))),
    get('listEmbedders', '/v1/embedders/{tenant}', READ, getTenantEmbedders(embedders)),
  ];
}

// Entries of the embedder inventory's operations.
// Read by ../operations.ts. Constants.

const INVENTORY: EmbedderInventory = {
  embedders: [
    {
      key: 'builtin',
      vector_key: 'builtin:static-minilm-512:dim=512',
      embedder_type: 'builtin',
      embed_model: 'static-minilm-512',
    },
  ],
  default: { vector_key: 'builtin:static-minilm-512:dim=512', instance_keys: ['builtin'] },
  count: 1,
};

export const EMBEDDER_OPERATIONS = {
  listEmbedders: {
    tag: 'Embedders',
    summary: 'The embedders a tenant can use',
    description:
      'Credentials are never told, nor instances of other tenants. `default` is what a collection gets that names none: its space, and the instances that serve it together.',
    answer: jsonAnswer('TenantEmbedderInventory', { tenant: 'acme', ...INVENTORY }),
  },
  listEmbeddersAsAdmin: {
    tag: 'Embedders',
    summary: 'Every configured embedder, and the default',
    answer: jsonAnswer('EmbedderInventory', INVENTORY),
  },
} satisfies Record<string, Operation>;
