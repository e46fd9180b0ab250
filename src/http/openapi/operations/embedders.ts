// Entries of the embedder inventory's operations.
// Read by ../operations.ts. Constants.
import type { EmbedderInventory } from '../../../contract/api/tenants.js';
import { jsonAnswer, type Operation } from '../operation.js';

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
