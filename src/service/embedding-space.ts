// Which embedding space a collection gets from what its creator asks for: the built-in embedder, or `identity` for vectors
// of one's own. Pure.
import { AppError, invalidField } from '../contract/errors.js';
import { DIM_MAX } from '../contract/limits.js';
import type { Space } from '../contract/resources.js';

/** As in the create body; null and undefined are absent. */
export interface EmbedderChoice {
  embedder?: string | null;
  embedder_type?: string | null;
  embed_model?: string | null;
  embedder_config?: Record<string, unknown> | null;
}

const BUILTIN_DIM = 512;
export const BUILTIN_SPACE: Space = {
  embedder_type: 'builtin',
  embed_model: 'static-minilm-512',
  embedder_config: {},
  vector_space_key: `builtin:static-minilm-512:dim=${BUILTIN_DIM}`,
  dim: BUILTIN_DIM,
};

export function asksForEmbedder({ embedder, embedder_type, embed_model, embedder_config }: EmbedderChoice): boolean {
  return embedder != null || embedder_type != null || embed_model != null || embedder_config != null;
}

/** Throws 400 `invalid_embedder_config` for one that is not configured, 422 for a selector together with detailed fields. */
export function resolveSpace(choice: EmbedderChoice): Space {
  const { embedder, embedder_type: type, embed_model: model, embedder_config: options } = choice;
  if (embedder != null) {
    if (type != null || model != null || options != null) {
      throw invalidField(['body', 'embedder'], 'a selector cannot be combined with embedder_type, embed_model or embedder_config', 'value_error', embedder);
    }
    return selected(embedder);
  }
  if (type === 'identity') return identitySpace(model, options ?? {});
  const isBuiltin = (type == null || type === BUILTIN_SPACE.embedder_type) && (model == null || model === BUILTIN_SPACE.embed_model);
  if (!isBuiltin) throw new AppError('invalid_embedder_config', 'No configured embedder has this type and model.');
  if (options && Object.keys(options).length > 0) throw new AppError('invalid_embedder_config', 'The built-in embedder takes no options.');
  return BUILTIN_SPACE;
}

/** A selector is an instance key, a type, `type:model`, or a whole vector-space key. */
function selected(selector: string): Space {
  const { embedder_type, embed_model, vector_space_key } = BUILTIN_SPACE;
  if ([embedder_type, `${embedder_type}:${embed_model}`, vector_space_key].includes(selector)) return BUILTIN_SPACE;
  throw new AppError('invalid_embedder_config', 'The selector names no configured embedder.');
}

function identitySpace(model: string | null | undefined, options: Record<string, unknown>): Space {
  const { dim, ...others } = options;
  if (model) throw new AppError('invalid_embedder_config', 'Embedder type identity has no model.');
  if (Object.keys(others).length > 0) throw new AppError('invalid_embedder_config', 'Embedder type identity takes the option dim only.');
  if (!Number.isInteger(dim) || (dim as number) < 1 || (dim as number) > DIM_MAX) {
    throw new AppError('invalid_embedder_config', `Embedder type identity wants a whole number \`dim\` from 1 to ${DIM_MAX}.`);
  }
  return { embedder_type: 'identity', embed_model: '', embedder_config: { dim }, vector_space_key: `identity::dim=${dim as number}`, dim: dim as number };
}
