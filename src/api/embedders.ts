// Embedder instances: all of them for the admin, and for a tenant those that it may use.
import typia, { type tags } from 'typia';
import type { EMBEDDED_TEXTS_MAX } from './limits.js';
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

/** Texts to embed, as OpenAI's clients send them. */
export interface EmbeddingsBody {
  /** One text, or several. */
  input: string | (string[] & tags.MinItems<1> & tags.MaxItems<typeof EMBEDDED_TEXTS_MAX>);
  /** Key, model or vector key of an embedder. Default: that of new collections. */
  model?: string | null;
  /** `base64`: little-endian 32-bit floats. Default: `float`, a list of numbers. */
  encoding_format?: 'float' | 'base64' | null;
  /** The dimensions of the embedder; others are refused. */
  dimensions?: number | null;
  /** Ignored. */
  user?: string | null;
}

interface EmbeddedText {
  object: 'embedding';
  /** The place of the text in the request. */
  index: number;
  embedding: number[] | string;
}

export interface Embeddings {
  object: 'list';
  /** In the order of the texts. */
  data: EmbeddedText[];
  model: string;
  /** Words of the texts, as the text index counts them; tokens of a model are not counted. */
  usage: { prompt_tokens: number; total_tokens: number };
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
  createEmbeddings: jsonRoute({
    method: 'POST',
    path: '/v1/embeddings',
    access: 'any',
    scope: 'search',
    tag: 'Embedders',
    summary: 'Get the vectors of texts, as from the embeddings API of OpenAI',
    description:
      'Texts are embedded as queries are, with the embedder that `model` names. Answers have the fields that clients of OpenAI read.',
    body: {
      check: typia.createValidateEquals<EmbeddingsBody>(),
      schema: typia.json.schema<EmbeddingsBody>(),
      required: true,
      examples: { texts: { input: ['Captain Nemo commands the Nautilus.', 'A whale.'], model: 'builtin' } },
    },
    answer: {
      schema: typia.json.schema<Embeddings>(),
      example: {
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: [0.25, -0.5] }],
        model: 'static-minilm-512',
        usage: { prompt_tokens: 5, total_tokens: 5 },
      },
    },
    codes: ['embedder_unavailable', 'overloaded', 'text_not_embeddable'],
  }),
});
