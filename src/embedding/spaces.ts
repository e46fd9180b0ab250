// Vector spaces: their keys, the built-in one, `identity` for the user's own vectors, and the choice of a space for a
// new collection by a selector, or by type, model and options. Pure.
import type { Space } from '../api/collections.js';
import { AppError, invalidField } from '../api/errors.js';
import { DIM_MAX } from '../api/limits.js';
import type { EmbedderInstance } from './embedder-spec.js';

/** Dimensions of the built-in embedder. */
export const BUILTIN_DIM = 512;

/**
 * `options` determine the space together with the model, and always include the dimensions. They become the
 * `embedder_config` of a collection.
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

/** Escapes option values, so that different spaces never have equal keys. */
const escaped = (value: string): string => value.replace(/[%,=]/g, encodeURIComponent);

export const BUILTIN: EmbedderInstance = {
  key: 'builtin',
  // The dimensions cannot be chosen, so the configuration is empty.
  space: { ...spaceOf('builtin', 'static-minilm-512', { dim: BUILTIN_DIM }), embedder_config: {} },
  spec: { key: 'builtin', type: 'builtin' },
};

export const IDENTITY_TYPE = 'identity';

/** The space of the user's own vectors. Throws 400 `invalid_embedder_config`. */
export function identitySpace(model: string | null | undefined, options: Record<string, unknown>): Space {
  const { dim, ...others } = options;
  if (model) throw new AppError('invalid_embedder_config', 'Embedder type identity has no model.');
  if (Object.keys(others).length > 0)
    throw new AppError('invalid_embedder_config', 'Embedder type identity accepts only the option dim.');
  if (!Number.isInteger(dim) || (dim as number) < 1 || (dim as number) > DIM_MAX) {
    throw new AppError(
      'invalid_embedder_config',
      `Embedder type identity requires a whole number \`dim\` from 1 to ${DIM_MAX}.`,
    );
  }
  return spaceOf(IDENTITY_TYPE, '', { dim: dim as number });
}

const OPTION_SHOWN_CHARACTERS = 40;

/** The fields of the create body; null and undefined mean absent. */
export interface EmbedderChoice {
  embedder?: string | null;
  embedder_type?: string | null;
  embed_model?: string | null;
  embedder_config?: Record<string, unknown> | null;
}

/** Whether an embedder is requested. Empty options request nothing. */
export function asksForEmbedder({ embedder, embedder_type, embed_model, embedder_config }: EmbedderChoice): boolean {
  return (
    embedder != null || embedder_type != null || embed_model != null || Object.keys(embedder_config ?? {}).length > 0
  );
}

/**
 * The space that a choice selects. Throws 400 `invalid_embedder_config` if no instance matches, and 422 for a selector
 * combined with the detailed fields.
 */
export function chooseSpace(choice: EmbedderChoice, instances: readonly EmbedderInstance[], fallback: Space): Space {
  const { embedder, embedder_type: type, embed_model: model, embedder_config: options } = choice;
  if (embedder != null) {
    if (type != null || model != null || options != null) {
      throw invalidField(
        ['body', 'embedder'],
        'a selector cannot be combined with embedder_type, embed_model or embedder_config',
        'value_error',
        embedder,
      );
    }
    return selectSpace(embedder, instances);
  }
  if (type === IDENTITY_TYPE) return identitySpace(model, options ?? {});
  if (!asksForEmbedder(choice)) return fallback;
  const fits = ({ space }: EmbedderInstance): boolean =>
    (type == null || type === space.embedder_type) && (model == null || model === space.embed_model);
  const fitting = instances.filter(fits);
  if (fitting.length === 0)
    throw new AppError('invalid_embedder_config', 'No configured embedder has this type and model.');
  return theOne(withOptions(fitting, options ?? {}), 'No configured embedder has these options.');
}

/**
 * The instances whose spaces have all requested options; if some have no other options, only these. Throws for an
 * option that no instance has.
 */
function withOptions(instances: readonly EmbedderInstance[], asked: Record<string, unknown>): EmbedderInstance[] {
  const known = new Set(instances.flatMap(({ space }) => Object.keys(optionsOf(space))));
  const unknown = Object.keys(asked).find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new AppError(
      'invalid_embedder_config',
      `The embedder has no option ${JSON.stringify(unknown.slice(0, OPTION_SHOWN_CHARACTERS))}; it has ${[...known].join(', ')}.`,
    );
  const agreeing = instances.filter(({ space }) =>
    Object.entries(asked).every(([name, value]) => optionsOf(space)[name] === value),
  );
  const exact = agreeing.filter(({ space }) => Object.keys(optionsOf(space)).length === Object.keys(asked).length);
  return exact.length > 0 ? exact : agreeing;
}

const optionsOf = ({ dim, embedder_config }: Space): Record<string, unknown> => ({ dim, ...embedder_config });

/** A selector is an instance key, a type, `type:model`, or a vector-space key. Throws 400 `invalid_embedder_config`. */
export function selectSpace(selector: string, instances: readonly EmbedderInstance[]): Space {
  const named = instances.find(({ key }) => key === selector);
  if (named) return named.space;
  const names = ({ embedder_type, embed_model, vector_space_key }: Space): string[] => [
    embedder_type,
    `${embedder_type}:${embed_model}`,
    vector_space_key,
  ];
  return theOne(
    instances.filter(({ space }) => names(space).includes(selector)),
    'The selector names no configured embedder.',
  );
}

/** The instances that a tenant may use; all of them without a tenant. Others do not exist for it. */
export function visibleTo<I extends { tenants?: readonly string[] }>(
  tenant: string | undefined,
  instances: readonly I[],
): I[] {
  return instances.filter(({ tenants }) => tenant === undefined || (tenants?.includes(tenant) ?? true));
}

/**
 * The space of a collection that requests none: the configured default; if the tenant may not use it, the first of the
 * tenant's own instances; if it has none, the built-in embedder. `visible` has the instances that the tenant may use.
 */
export function defaultFor(tenant: string | undefined, visible: readonly EmbedderInstance[], configured: Space): Space {
  if (visible.some(({ space }) => space.vector_space_key === configured.vector_space_key)) return configured;
  return visible.find(({ tenants }) => tenant !== undefined && tenants?.includes(tenant))?.space ?? BUILTIN.space;
}

/** The common space of the instances, which must be a single one. */
function theOne(instances: readonly EmbedderInstance[], nothing: string): Space {
  const [first, ...others] = instances;
  if (!first) throw new AppError('invalid_embedder_config', nothing);
  if (others.some(({ space }) => space.vector_space_key !== first.space.vector_space_key)) {
    throw new AppError('invalid_embedder_config', 'The embedder is ambiguous: more than one vector space matches.');
  }
  return first.space;
}
