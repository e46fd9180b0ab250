// Which embedding space a collection gets from what its creator asks for: a selector, or type, model and options. Pure.
// Used by embedders.ts.
import type { EmbedderInstance } from '../contract/embedder.js';
import { AppError, invalidField } from '../contract/errors.js';
import type { Space } from '../contract/resources.js';
import { IDENTITY_TYPE, identitySpace } from './spaces.js';

/** As in the create body; null and undefined are absent. */
export interface EmbedderChoice {
  embedder?: string | null;
  embedder_type?: string | null;
  embed_model?: string | null;
  embedder_config?: Record<string, unknown> | null;
}

export function asksForEmbedder({ embedder, embedder_type, embed_model, embedder_config }: EmbedderChoice): boolean {
  return embedder != null || embedder_type != null || embed_model != null || embedder_config != null;
}

/** Throws 400 `invalid_embedder_config` for one that is not among the instances, 422 for a selector together with detailed fields. */
export function chooseSpace(choice: EmbedderChoice, instances: readonly EmbedderInstance[], fallback: Space): Space {
  const { embedder, embedder_type: type, embed_model: model, embedder_config: options } = choice;
  if (embedder != null) {
    if (type != null || model != null || options != null) {
      throw invalidField(['body', 'embedder'], 'a selector cannot be combined with embedder_type, embed_model or embedder_config', 'value_error', embedder);
    }
    return selectSpace(embedder, instances);
  }
  if (type === IDENTITY_TYPE) return identitySpace(model, options ?? {});
  if (!asksForEmbedder(choice)) return fallback;
  const fits = ({ space }: EmbedderInstance): boolean => (type == null || type === space.embedder_type) && (model == null || model === space.embed_model);
  const space = theOne(instances.filter(fits), 'No configured embedder has this type and model.');
  if (options && Object.keys(options).length > 0) throw new AppError('invalid_embedder_config', 'The embedder takes no options.');
  return space;
}

/** A selector is an instance key, a type, `type:model`, or a whole vector-space key. Throws 400 `invalid_embedder_config`. */
export function selectSpace(selector: string, instances: readonly EmbedderInstance[]): Space {
  const named = instances.find(({ key }) => key === selector);
  if (named) return named.space;
  const names = ({ embedder_type, embed_model, vector_space_key }: Space): string[] => [embedder_type, `${embedder_type}:${embed_model}`, vector_space_key];
  return theOne(instances.filter(({ space }) => names(space).includes(selector)), 'The selector names no configured embedder.');
}

/** All instances have to be of one space. */
function theOne(instances: readonly EmbedderInstance[], nothing: string): Space {
  const [first, ...others] = instances;
  if (!first) throw new AppError('invalid_embedder_config', nothing);
  if (others.some(({ space }) => space.vector_space_key !== first.space.vector_space_key)) {
    throw new AppError('invalid_embedder_config', 'The embedder is ambiguous: more than one space fits.');
  }
  return first.space;
}
