// The embedding spaces: how the key of one is made, the built-in embedder's, and `identity` for vectors of one's own.
// Pure. Used by embedders.ts, selection.ts and, at start, by the configuration.
import type { EmbedderInstance } from '../contract/embedder.js';
import { AppError } from '../contract/errors.js';
import { DIM_MAX } from '../contract/limits.js';
import type { Space } from '../contract/resources.js';

const BUILTIN_DIM = 512;

/**
 * `options`: what shapes the space beside the model, its dimension always. A collection is told them as its
 * `embedder_config`.
 */
export function spaceOf(
  type: string,
  model: string,
  options: Record<string, string | number> & { dim: number },
): Space {
  const pairs = Object.entries(options).map(([name, value]) => `${name}=${escaped(String(value))}`);
  return {
    embedder_type: type,
    embed_model: model,
    embedder_config: options,
    vector_space_key: `${type}:${model}:${pairs.sort().join(',')}`,
    dim: options.dim,
  };
}

/** So that no text in an option can make two spaces look alike. */
const escaped = (value: string): string => value.replace(/[%,=]/g, encodeURIComponent);

export const BUILTIN: EmbedderInstance = {
  key: 'builtin',
  // It has one dimension: there is nothing to choose, and so nothing to tell.
  space: { ...spaceOf('builtin', 'static-minilm-512', { dim: BUILTIN_DIM }), embedder_config: {} },
  spec: { key: 'builtin', type: 'builtin' },
};

export const IDENTITY_TYPE = 'identity';

/** The space of vectors of one's own. Throws 400 `invalid_embedder_config`. */
export function identitySpace(model: string | null | undefined, options: Record<string, unknown>): Space {
  const { dim, ...others } = options;
  if (model) throw new AppError('invalid_embedder_config', 'Embedder type identity has no model.');
  if (Object.keys(others).length > 0)
    throw new AppError('invalid_embedder_config', 'Embedder type identity takes the option dim only.');
  if (!Number.isInteger(dim) || (dim as number) < 1 || (dim as number) > DIM_MAX) {
    throw new AppError(
      'invalid_embedder_config',
      `Embedder type identity wants a whole number \`dim\` from 1 to ${DIM_MAX}.`,
    );
  }
  return spaceOf(IDENTITY_TYPE, '', { dim: dim as number });
}
