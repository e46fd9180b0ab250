// The embedder instances out of `embedder.instances` and `embedder.model`, each checked: a wrong one ends the start,
// with its place and a remedy. Called by config.ts at start; reads the model folders and the keys of endpoints.
import { basename, resolve } from 'node:path';
import { readEndpoint } from './config-endpoint.js';
import { checkedMapping, type Field } from './config-mapping.js';
import { MODEL_KEY } from './config-shape.js';
import { ConfigError } from './config-tenant-keys.js';
import type { EmbedderInstance, OnnxModel, OpenAiEndpoint, Pooling } from './contract/embedder.js';
import { AppError } from './contract/errors.js';
import { isSlug } from './contract/ids.js';
import { DIM_MAX } from './contract/limits.js';
import { GRAPHS, ModelFolderError, readModelFolder, type ModelFolderOptions } from './embedding/model-folder.js';
import { selectSpace } from './embedding/selection.js';
import { BUILTIN, IDENTITY_TYPE, spaceOf } from './embedding/spaces.js';

const POOLINGS: readonly Pooling[] = ['mean', 'cls', 'max', 'mean_sqrt_len', 'last_token'];

const INSTANCE_FIELDS = {
  key: { kind: 'text' },
  type: { kind: 'text' },
  tenants: { kind: 'texts', fallback: undefined },
} as const satisfies Record<string, Field>;

const ONNX_FIELDS = {
  ...INSTANCE_FIELDS,
  path: { kind: 'text' },
  model: { kind: 'text', fallback: undefined },
  file: { kind: 'text', fallback: undefined },
  dim: { kind: 'integer', min: 1, max: DIM_MAX, fallback: undefined },
  pooling: { kind: 'text', of: POOLINGS, fallback: undefined },
  max_tokens: { kind: 'integer', min: 1, max: 1_000_000, fallback: undefined },
  // '' takes away a prefix that the folder names.
  query_prefix: { kind: 'text', mayBeEmpty: true, fallback: undefined },
  passage_prefix: { kind: 'text', mayBeEmpty: true, fallback: undefined },
} as const satisfies Record<string, Field>;

/** Beside ENDPOINT_FIELDS. */
const OPENAI_FIELDS = {
  ...INSTANCE_FIELDS,
  dim: { kind: 'integer', min: 1, max: DIM_MAX },
  send_dimensions: { kind: 'boolean', fallback: false },
  inputs_max: { kind: 'integer', min: 1, max: 1_000_000, fallback: 2048 },
  tokens_max: { kind: 'integer', min: 1, max: 1e9, fallback: 300_000 },
  max_characters: { kind: 'integer', min: 0, max: 1e9, fallback: 0 },
  query_prefix: { kind: 'text', mayBeEmpty: true, fallback: '' },
  passage_prefix: { kind: 'text', mayBeEmpty: true, fallback: '' },
} as const satisfies Record<string, Field>;

interface InstanceValues {
  key: string;
  tenants?: string[];
}

interface OnnxValues extends InstanceValues {
  path: string;
  model?: string;
  file?: string;
  dim?: number;
  pooling?: Pooling;
  max_tokens?: number;
  query_prefix?: string;
  passage_prefix?: string;
}

interface OpenAiValues extends InstanceValues {
  dim: number;
  send_dimensions: boolean;
  inputs_max: number;
  tokens_max: number;
  max_characters: number;
  query_prefix: string;
  passage_prefix: string;
}

type ReadInstance = (at: string, mapping: Record<string, unknown>, env: NodeJS.ProcessEnv) => EmbedderInstance;
const TYPES: Readonly<Record<string, ReadInstance>> = { onnx: onnxInstance, openai: openAiInstance };
const RESERVED: readonly string[] = [BUILTIN.key, IDENTITY_TYPE, ...Object.keys(TYPES)];

/** In the order of the configuration, the model folder first and the built-in embedder last. */
export function readEmbedders(
  model: string,
  mappings: readonly Record<string, unknown>[],
  env: NodeJS.ProcessEnv,
): EmbedderInstance[] {
  const folder = model === '' ? [] : [onnxInstance('embedder.model', { key: MODEL_KEY, type: 'onnx', path: model })];
  const listed = mappings.map((mapping, i) => readInstance(`embedder.instances[${i}]`, mapping, env));
  const instances = [...folder, ...listed];
  instances.forEach(({ key }, i) => {
    if (instances.findIndex((other) => other.key === key) === i) return;
    const taken =
      model !== '' && key === MODEL_KEY ? 'embedder.model makes the instance of this key' : 'another instance has it';
    throw new ConfigError(`embedder.instances[${i - folder.length}].key ${key} is given twice: ${taken}`);
  });
  return [...instances, BUILTIN];
}

/** `selector`: of the default; '' is always fine. */
export function checkDefault(selector: string, instances: readonly EmbedderInstance[]): void {
  try {
    if (selector !== '') selectSpace(selector, instances);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new ConfigError(
      `embedder.default is ${selector}: ${error.message} There are ${instances.map(({ key, space }) => `${key} (${space.vector_space_key})`).join(', ')}`,
    );
  }
}

function readInstance(at: string, mapping: Record<string, unknown>, env: NodeJS.ProcessEnv): EmbedderInstance {
  const { type } = mapping;
  const read = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (!read)
    throw new ConfigError(
      `${at}.type should be one of ${Object.keys(TYPES).join(', ')}${type == null ? '' : `, not ${JSON.stringify(type)}`}`,
    );
  const instance = read(at, mapping, env);
  const { key, tenants = [] } = instance;
  if (!isSlug(key))
    throw new ConfigError(`${at}.key should be a slug: up to 128 of A-Z a-z 0-9 . _ -, not ${JSON.stringify(key)}`);
  if (RESERVED.includes(key))
    throw new ConfigError(
      `${at}.key should be another than ${key}, which selects a type: say what is special about this one`,
    );
  const wrong = tenants.find((tenant) => !isSlug(tenant));
  if (wrong !== undefined)
    throw new ConfigError(`${at}.tenants should be tenant slugs, which ${JSON.stringify(wrong)} is not`);
  return instance;
}

function onnxInstance(at: string, mapping: Record<string, unknown>): EmbedderInstance {
  const {
    key,
    tenants,
    path,
    model: name,
    file,
    dim,
    pooling,
    max_tokens,
    query_prefix,
    passage_prefix,
  } = checkedMapping(at, mapping, ONNX_FIELDS) as unknown as OnnxValues;
  const model = modelIn(at, {
    path,
    file,
    dim,
    pooling,
    maxTokens: max_tokens,
    queryPrefix: query_prefix,
    passagePrefix: passage_prefix,
  });
  const shaping = given({
    file: file !== undefined && GRAPHS.includes(file) ? undefined : file,
    pooling,
    query_prefix,
    passage_prefix,
  });
  const space = spaceOf('onnx', name ?? basename(resolve(path)), { dim: model.dim, ...shaping });
  return { key, space, ...given({ tenants }), spec: { key, type: 'onnx', model } };
}

function modelIn(at: string, options: ModelFolderOptions): OnnxModel {
  try {
    return readModelFolder(at, options);
  } catch (error) {
    if (error instanceof ModelFolderError) throw new ConfigError(error.message);
    throw error;
  }
}

function openAiInstance(at: string, mapping: Record<string, unknown>, env: NodeJS.ProcessEnv): EmbedderInstance {
  const { endpoint: remote, values } = readEndpoint(at, mapping, OPENAI_FIELDS, env);
  const {
    key,
    tenants,
    dim,
    send_dimensions: sendsDimensions,
    inputs_max: inputsMax,
    tokens_max: tokensMax,
    ...others
  } = values as unknown as OpenAiValues;
  const { max_characters: charactersMax, query_prefix: queryPrefix, passage_prefix: passagePrefix } = others;
  const endpoint: OpenAiEndpoint = {
    ...remote,
    dim,
    sendsDimensions,
    inputsMax,
    tokensMax,
    charactersMax,
    queryPrefix,
    passagePrefix,
  };
  const shaping = given({ query_prefix: queryPrefix || undefined, passage_prefix: passagePrefix || undefined });
  const space = spaceOf('openai', remote.model, { dim, ...shaping });
  return { key, space, ...given({ tenants }), spec: { key, type: 'openai', endpoint } };
}

const given = <T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
