// Embedder instances: all of them for the admin, and for a tenant those that it may use.
import typia from 'typia';
import { jsonRoute, routes } from './route.js';

/** A configured embedder instance. Credentials are never returned. */
interface EmbedderInstance {
  key: string;
  vector_key: string;
  embedder_type: string;
  embed_model: string;
}

/** The embedder of collections that name none. */
interface EmbedderDefault {
  vector_key: string;
  instance_keys: string[];
  /** The configured default selector. */
  selector?: string;
}

/** The configured embedder instances. */
export interface EmbedderInventory {
  embedders: EmbedderInstance[];
  default: EmbedderDefault;
  count: number;
}

/** The embedder instances that a tenant may use. */
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
    summary: 'List all configured embedders and the default',
    answer: { schema: typia.json.schema<EmbedderInventory>(), example: INVENTORY },
  }),
  listEmbedders: jsonRoute({
    method: 'GET',
    path: '/v1/embedders/{tenant}',
    access: 'tenant',
    scope: 'search',
    tag: 'Embedders',
    summary: 'List the embedders that a tenant can use',
    description:
      'Credentials and instances of other tenants are never returned. `default` is used for collections that name no embedder: its vector space, and the instances that serve it together.',
    answer: { schema: typia.json.schema<TenantEmbedderInventory>(), example: { tenant: 'acme', ...INVENTORY } },
  }),
});
