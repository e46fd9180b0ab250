// The embedder instances out of `embedder.instances` and `embedder.model`, each checked: a wrong one ends the start,
// with its place and a remedy. Called by config.ts at start; reads the model folders and the keys of endpoints.
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { AppError } from '../api/errors.js';
import { isSlug } from '../api/ids.js';
import { DIM_MAX } from '../api/limits.js';
import type {
  EmbedderInstance,
  OnnxModel,
  OpenAiEndpoint,
  Pooling,
  RemoteEndpoint,
  RerankerInstance,
  RerankerSpec,
} from '../embedding/embedder-spec.js';
import {
  GRAPHS,
  ModelFolderError,
  type ModelFolderOptions,
  readModelFolder,
  readRerankerFolder,
} from '../embedding/onnx/model-folder.js';
import { BUILTIN, IDENTITY_TYPE, selectSpace, spaceOf } from '../embedding/spaces.js';
import { ConfigError } from './auth.js';
import { MODEL_KEY } from './config.js';

// Checks one mapping of a list in the configuration against a table of its fields. Throws ConfigError with the place of
// what is wrong. Used by the config files whose keys are lists of mappings, at start.

export interface Field {
  kind: 'text' | 'integer' | 'boolean' | 'texts';
  /** Of integers. */
  min?: number;
  max?: number;
  /** Of texts: the only ones. */
  of?: readonly string[];
  /** Of texts: whether '' is one. */
  mayBeEmpty?: boolean;
  /** Absent: the field is wanted. */
  fallback?: unknown;
}

const FITS: Readonly<
  Record<Field['kind'], { fits: (value: unknown, field: Field) => boolean; wanted: (field: Field) => string }>
> = {
  text: {
    fits: (value, { of, mayBeEmpty = false }) =>
      typeof value === 'string' && (of?.includes(value) ?? (mayBeEmpty || value !== '')),
    wanted: ({ of }) => (of ? `one of ${of.join(', ')}` : 'text (in YAML: in quotes)'),
  },
  integer: {
    fits: (value, { min = -Infinity, max = Infinity }) =>
      Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    wanted: ({ min, max }) => `a whole number from ${min} to ${max}`,
  },
  boolean: { fits: (value) => typeof value === 'boolean', wanted: () => 'true or false' },
  texts: {
    fits: (value) =>
      Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string' && item !== ''),
    wanted: () => 'a list of texts',
  },
};

/** Every field with its value or fallback. `at`: the place in the configuration, such as `embedder.instances[0]`. */
export function checkedMapping(
  at: string,
  mapping: Record<string, unknown>,
  fields: Readonly<Record<string, Field>>,
): Record<string, unknown> {
  for (const name of Object.keys(mapping)) {
    if (!Object.hasOwn(fields, name))
      throw new ConfigError(`${at}.${name}: there is no such field; there are ${Object.keys(fields).join(', ')}`);
  }
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const value = mapping[name] ?? undefined;
      if (value === undefined && !('fallback' in field)) throw new ConfigError(`${at}.${name} is missing`);
      if (value === undefined) return [name, field.fallback];
      const { fits, wanted } = FITS[field.kind];
      if (!fits(value, field))
        throw new ConfigError(`${at}.${name} should be ${wanted(field)}, not ${JSON.stringify(value)}`);
      return [name, value];
    }),
  );
}

// What every HTTP endpoint of an embedder or a reranker is configured by: where it is, its key, its bounds. The key
// comes from the environment or a file, never from the configuration itself. Used by the config files of both, at
// start.

export const ENDPOINT_FIELDS = {
  url: { kind: 'text' },
  model: { kind: 'text' },
  api_key_env: { kind: 'text', fallback: '' },
  api_key_file: { kind: 'text', fallback: '' },
  timeout_seconds: { kind: 'integer', min: 1, max: 3600, fallback: 30 },
  retries: { kind: 'integer', min: 0, max: 20, fallback: 3 },
  requests_per_minute: { kind: 'integer', min: 0, max: 1e9, fallback: 0 },
  tokens_per_minute: { kind: 'integer', min: 0, max: 1e12, fallback: 0 },
  calls_max: { kind: 'integer', min: 1, max: 256, fallback: 8 },
} as const satisfies Record<string, Field>;

/**
 * `values`: the checked values of ENDPOINT_FIELDS. Throws ConfigError for a URL that is none, and a key that is not
 * there.
 */
function endpointOf(at: string, values: Record<string, unknown>, env: NodeJS.ProcessEnv): RemoteEndpoint {
  const number = (name: keyof typeof ENDPOINT_FIELDS): number => values[name] as number;
  return {
    url: checkedUrl(`${at}.url`, values.url as string),
    model: values.model as string,
    apiKey: apiKeyOf(at, values.api_key_env as string, values.api_key_file as string, env),
    timeoutMs: number('timeout_seconds') * 1000,
    retriesMax: number('retries'),
    requestsPerMinute: number('requests_per_minute'),
    tokensPerMinute: number('tokens_per_minute'),
    callsMax: number('calls_max'),
  };
}

/** The endpoint of a mapping that has no other fields than these and `others`. */
export function readEndpoint(
  at: string,
  mapping: Record<string, unknown>,
  others: Readonly<Record<string, Field>>,
  env: NodeJS.ProcessEnv,
): { endpoint: RemoteEndpoint; values: Record<string, unknown> } {
  const values = checkedMapping(at, mapping, { ...others, ...ENDPOINT_FIELDS });
  return { endpoint: endpointOf(at, values, env), values };
}

/** What is wrong is not shown: there may be a password in it. */
function checkedUrl(at: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new ConfigError(`${at} should be an http or https URL`);
  if (url.username || url.password || /[?#]/.test(url.href))
    throw new ConfigError(`${at} should have no user, password, query or fragment`);
  return url.href.replace(/\/+$/, '');
}

function apiKeyOf(at: string, variable: string, file: string, env: NodeJS.ProcessEnv): string {
  if (variable && file) throw new ConfigError(`${at} has both api_key_env and api_key_file: give one`);
  if (file) return checkedApiKey(`${at}.api_key_file`, readKeyFile(`${at}.api_key_file`, file));
  // Whoever writes the key itself here should not find it in the log.
  const shown = /^[A-Z][A-Z_]*$/.test(variable) ? variable : 'of that name';
  if (variable && env[variable] === undefined)
    throw new ConfigError(`${at}.api_key_env: there is no environment variable ${shown}`);
  return variable ? checkedApiKey(`${at}.api_key_env`, env[variable] as string) : '';
}

function readKeyFile(at: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`${at} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Of other characters than these a header cannot be made. */
function checkedApiKey(at: string, text: string): string {
  const key = text.trim();
  if (!/^[\x20-\x7e]+$/.test(key))
    throw new ConfigError(
      `${at} ${key === '' ? 'leads to an empty key' : 'leads to a key that is not one line of ASCII'}`,
    );
  return key;
}

const POOLINGS: readonly Pooling[] = ['mean', 'cls', 'max', 'mean_sqrt_len', 'last_token'];

const INSTANCE_FIELDS = {
  key: { kind: 'text' },
  type: { kind: 'text' },
  tenants: { kind: 'texts', fallback: undefined },
} as const satisfies Record<string, Field>;

const ONNX_EMBEDDER_FIELDS = {
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
  } = checkedMapping(at, mapping, ONNX_EMBEDDER_FIELDS) as unknown as OnnxValues;
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

// Reads `rerank.instances`: each a folder with a cross-encoder, or an endpoint. Throws ConfigError with the place of
// what is wrong. Called by config.ts at start.

const TYPE = { type: { kind: 'text', of: ['onnx', 'endpoint'] } } as const satisfies Record<string, Field>;
const SHARED_FIELDS = {
  key: { kind: 'text' },
  ...TYPE,
  tenants: { kind: 'texts', fallback: undefined },
} as const satisfies Record<string, Field>;
const ONNX_RERANKER_FIELDS = {
  ...SHARED_FIELDS,
  path: { kind: 'text' },
  file: { kind: 'text', fallback: undefined },
  max_tokens: { kind: 'integer', min: 8, max: 131_072, fallback: undefined },
} as const satisfies Record<string, Field>;

/** `path`: the key of the list. */
export function readRerankers(
  path: string,
  mappings: readonly Record<string, unknown>[],
  env: NodeJS.ProcessEnv,
): RerankerInstance[] {
  const instances = mappings.map((mapping, i) => readReranker(`${path}[${i}]`, mapping, env));
  const keys = instances.map(({ key }) => key);
  keys.forEach((key, i) => {
    if (keys.indexOf(key) !== i)
      throw new ConfigError(`${path}[${i}].key is the same as that of ${path}[${keys.indexOf(key)}]: ${key}`);
  });
  return instances;
}

function readReranker(at: string, mapping: Record<string, unknown>, env: NodeJS.ProcessEnv): RerankerInstance {
  checkedMapping(at, { type: mapping.type }, TYPE);
  const { values, spec } = mapping.type === 'onnx' ? readOnnx(at, mapping) : readRemote(at, mapping, env);
  const key = values.key as string;
  const tenants = values.tenants as string[] | undefined;
  for (const [field, slugs] of Object.entries({ key: [key], tenants: tenants ?? [] })) {
    const wrong = slugs.find((slug) => !isSlug(slug));
    if (wrong !== undefined)
      throw new ConfigError(`${at}.${field} should be of up to 128 of A-Z a-z 0-9 . _ -, not ${JSON.stringify(wrong)}`);
  }
  return { key, ...(tenants && { tenants }), spec: { key, ...spec } };
}

type Kind = RerankerSpec extends infer S ? (S extends RerankerSpec ? Omit<S, 'key'> : never) : never;
interface Read {
  values: Record<string, unknown>;
  spec: Kind;
}

function readRemote(at: string, mapping: Record<string, unknown>, env: NodeJS.ProcessEnv): Read {
  const { endpoint, values } = readEndpoint(at, mapping, SHARED_FIELDS, env);
  return { values, spec: { type: 'endpoint', endpoint } };
}

function readOnnx(at: string, mapping: Record<string, unknown>): Read {
  const values = checkedMapping(at, mapping, ONNX_RERANKER_FIELDS);
  const { path, file, max_tokens: maxTokens } = values as { path: string; file?: string; max_tokens?: number };
  try {
    return { values, spec: { type: 'onnx', model: readRerankerFolder(at, { path, file, maxTokens }) } };
  } catch (error) {
    throw error instanceof ModelFolderError ? new ConfigError(error.message) : error;
  }
}
