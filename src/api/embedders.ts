// The embedder instances that the server has: all of them for the admin, for a tenant those that it may use.
import typia from 'typia';
import { jsonRoute, routes } from './route.js';

/** One embedder instance; credentials are never told. */
interface EmbedderInstance {
  key: string;
  vector_key: string;
  embedder_type: string;
  embed_model: string;
}

/** What a collection gets that names no embedder. */
interface EmbedderDefault {
  vector_key: string;
  instance_keys: string[];
  /** The configured default selector. */
  selector?: string;
}

/** GET /v1/admin/embedders. */
export interface EmbedderInventory {
  embedders: EmbedderInstance[];
  default: EmbedderDefault;
  count: number;
}

/** GET /v1/embedders/{tenant}. */
export interface TenantEmbedderInventory extends EmbedderInventory {
  tenant: string;
}

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

export const EMBEDDER_ROUTES = routes({
  listEmbeddersAsAdmin: jsonRoute({
    method: 'GET',
    path: '/v1/admin/embedders',
    access: 'admin',
    ignoresQuery: true,
    tag: 'Embedders',
    summary: 'Every configured embedder, and the default',
    answer: { schema: typia.json.schema<EmbedderInventory>(), example: INVENTORY },
  }),
  listEmbedders: jsonRoute({
    method: 'GET',
    path: '/v1/embedders/{tenant}',
    access: 'tenant',
    scope: 'search',
    tag: 'Embedders',
    summary: 'The embedders a tenant can use',
    description:
      'Credentials are never told, nor instances of other tenants. `default` is what a collection gets that names none: its space, and the instances that serve it together.',
    answer: { schema: typia.json.schema<TenantEmbedderInventory>(), example: { tenant: 'acme', ...INVENTORY } },
  }),
});
