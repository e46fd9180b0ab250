// Which embedding space a collection gets from what its creator asks for: a selector, or type, model and options. Pure.
// Used by embedders.ts.
import type { EmbedderInstance } from '../contract/embedder.js';
import { AppError, invalidField } from '../contract/errors.js';
import type { Space } from '../contract/resources.js';
import { BUILTIN, IDENTITY_TYPE, identitySpace } from './spaces.js';

const OPTION_SHOWN_CHARACTERS = 40;

/** As in the create body; null and undefined are absent. */
export interface EmbedderChoice {
  embedder?: string | null;
  embedder_type?: string | null;
  embed_model?: string | null;
  embedder_config?: Record<string, unknown> | null;
}

/** Options that say nothing ask for nothing. */
export function asksForEmbedder({ embedder, embedder_type, embed_model, embedder_config }: EmbedderChoice): boolean {
  return (
    embedder != null || embedder_type != null || embed_model != null || Object.keys(embedder_config ?? {}).length > 0
  );
}

/**
 * Throws 400 `invalid_embedder_config` for one that is not among the instances, 422 for a selector together with
 * detailed fields.
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
 * Those whose space has every option as it is asked for; where there are some with no other option, these. Throws for
 * an option that none of them knows.
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

/**
 * A selector is an instance key, a type, `type:model`, or a whole vector-space key. Throws 400
 * `invalid_embedder_config`.
 */
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

/** All of them without a tenant. What a tenant may not use does not exist for it. */
export function visibleTo<I extends { tenants?: readonly string[] }>(
  tenant: string | undefined,
  instances: readonly I[],
): I[] {
  return instances.filter(({ tenants }) => tenant === undefined || (tenants?.includes(tenant) ?? true));
}

/**
 * What a collection of a tenant gets that asks for nothing: the configured default; where the tenant may not use that,
 * the first of its own instances; where it has none, the built-in embedder. `visible`: what it may use.
 */
export function defaultFor(tenant: string | undefined, visible: readonly EmbedderInstance[], configured: Space): Space {
  if (visible.some(({ space }) => space.vector_space_key === configured.vector_space_key)) return configured;
  return visible.find(({ tenants }) => tenant !== undefined && tenants?.includes(tenant))?.space ?? BUILTIN.space;
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
