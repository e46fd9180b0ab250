// The embedding spaces that need no configuration: the built-in embedder's, and `identity` for vectors of one's own. Pure.
// Used by embedders.ts, and by the command that serves.
import type { EmbedderInstance } from '../contract/embedder.js';
import { AppError } from '../contract/errors.js';
import { DIM_MAX } from '../contract/limits.js';
import type { Space } from '../contract/resources.js';

const BUILTIN_DIM = 512;

export const BUILTIN: EmbedderInstance = {
  key: 'builtin',
  space: {
    embedder_type: 'builtin',
    embed_model: 'static-minilm-512',
    embedder_config: {},
    vector_space_key: `builtin:static-minilm-512:dim=${BUILTIN_DIM}`,
    dim: BUILTIN_DIM,
  },
  spec: { key: 'builtin', type: 'builtin' },
};

export const IDENTITY_TYPE = 'identity';

/** The space of vectors of one's own. Throws 400 `invalid_embedder_config`. */
export function identitySpace(model: string | null | undefined, options: Record<string, unknown>): Space {
  const { dim, ...others } = options;
  if (model) throw new AppError('invalid_embedder_config', 'Embedder type identity has no model.');
  if (Object.keys(others).length > 0) throw new AppError('invalid_embedder_config', 'Embedder type identity takes the option dim only.');
  if (!Number.isInteger(dim) || (dim as number) < 1 || (dim as number) > DIM_MAX) {
    throw new AppError('invalid_embedder_config', `Embedder type identity wants a whole number \`dim\` from 1 to ${DIM_MAX}.`);
  }
  return { embedder_type: IDENTITY_TYPE, embed_model: '', embedder_config: { dim }, vector_space_key: `identity::dim=${dim as number}`, dim: dim as number };
}
