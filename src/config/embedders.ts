// The embedder and reranker instances configured in `embedder.model`, `embedder.instances` and `rerank.instances`:
// model folders and HTTP endpoints. Reads the folders and the keys of endpoints. Throws ConfigError with the location
// of an error.
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { AppError } from '../api/errors.js';
import { isSlug } from '../api/ids.js';
import { DIM_MAX } from '../api/limits.js';
import type { EmbedderInstance, EndpointSpec, RerankerInstance } from '../embedding/embedder-spec.js';
import { GRAPHS, ModelFolderError, readModelFolder, readRerankerFolder } from '../embedding/onnx/model-folder.js';
import { BUILTIN, IDENTITY_TYPE, selectSpace, spaceOf } from '../embedding/spaces.js';
import {
  ConfigError,
  type Values,
  checkedMapping,
  choice,
  filledText,
  flag,
  given,
  integer,
  optional,
  or,
  text,
  texts,
} from './kinds.js';

type Mapping = Record<string, unknown>;

/** The key of the instance that `embedder.model` defines. */
export const MODEL_KEY = 'model';

const INSTANCE_FIELDS = { key: filledText, type: filledText, tenants: optional(texts) };

/**
 * Fields of every HTTP endpoint. The API key comes from the environment or a file, never from the configuration itself.
 */
export const ENDPOINT_FIELDS = {
  url: filledText,
  model: filledText,
  api_key_env: or(filledText, ''),
  api_key_file: or(filledText, ''),
  timeout_seconds: or(integer(1, 3600), 30),
  retries: or(integer(0, 20), 3),
  requests_per_minute: or(integer(0, 1e9), 0),
  tokens_per_minute: or(integer(0, 1e12), 0),
  calls_max: or(integer(1, 256), 8),
};

const ONNX_EMBEDDER_FIELDS = {
  ...INSTANCE_FIELDS,
  path: filledText,
  model: optional(filledText),
  file: optional(filledText),
  dim: optional(integer(1, DIM_MAX)),
  pooling: optional(choice('mean', 'cls', 'max', 'mean_sqrt_len', 'last_token')),
  max_tokens: optional(integer(1, 1_000_000)),
  // An empty text removes a prefix that the model folder defines.
  query_prefix: optional(text),
  passage_prefix: optional(text),
};

const OPENAI_FIELDS = {
  ...INSTANCE_FIELDS,
  dim: integer(1, DIM_MAX),
  send_dimensions: or(flag, false),
  inputs_max: or(integer(1, 1_000_000), 2048),
  tokens_max: or(integer(1, 1e9), 300_000),
  max_characters: or(integer(0, 1e9), 0),
  query_prefix: or(text, ''),
  passage_prefix: or(text, ''),
  ...ENDPOINT_FIELDS,
};

const RERANKER_TYPE = { type: choice('onnx', 'endpoint') };

const ONNX_RERANKER_FIELDS = {
  ...INSTANCE_FIELDS,
  path: filledText,
  file: optional(filledText),
  max_tokens: optional(integer(8, 131_072)),
};

const REMOTE_RERANKER_FIELDS = { ...INSTANCE_FIELDS, ...ENDPOINT_FIELDS };

const EMBEDDER_TYPES: Readonly<
  Record<string, (at: string, mapping: Mapping, env: NodeJS.ProcessEnv) => EmbedderInstance>
> = { onnx: onnxEmbedder, openai: openAiEmbedder };
const RESERVED: readonly string[] = [BUILTIN.key, IDENTITY_TYPE, ...Object.keys(EMBEDDER_TYPES)];

/** In the order of the configuration, with the model folder first and the built-in embedder last. */
export function readEmbedders(model: string, mappings: readonly Mapping[], env: NodeJS.ProcessEnv): EmbedderInstance[] {
  const folder = model === '' ? [] : [onnxEmbedder('embedder.model', { key: MODEL_KEY, type: 'onnx', path: model })];
  const listed = mappings.map((mapping, i) => readEmbedder(`embedder.instances[${i}]`, mapping, env));
  const instances = [...folder, ...listed];
  instances.forEach(({ key }, i) => {
    if (instances.findIndex((other) => other.key === key) === i) return;
    const taken =
      model !== '' && key === MODEL_KEY
        ? 'embedder.model defines the instance with this key'
        : 'another instance has it';
    throw new ConfigError(`embedder.instances[${i - folder.length}].key ${key} is given twice: ${taken}`);
  });
  return [...instances, BUILTIN];
}

/** `selector` selects the default embedder; '' is always valid. */
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

function readEmbedder(at: string, mapping: Mapping, env: NodeJS.ProcessEnv): EmbedderInstance {
  const { type } = mapping;
  const read = typeof type === 'string' && Object.hasOwn(EMBEDDER_TYPES, type) ? EMBEDDER_TYPES[type] : undefined;
  if (!read)
    throw new ConfigError(
      `${at}.type should be one of ${Object.keys(EMBEDDER_TYPES).join(', ')}${type == null ? '' : `, not ${JSON.stringify(type)}`}`,
    );
  const instance = read(at, mapping, env);
  checkIdentity(at, instance);
  if (RESERVED.includes(instance.key))
    throw new ConfigError(`${at}.key must not be ${instance.key}, which selects a type; choose a more specific key`);
  return instance;
}

function checkIdentity(at: string, { key, tenants = [] }: { key: string; tenants?: readonly string[] }): void {
  if (!isSlug(key))
    throw new ConfigError(`${at}.key should be a slug: up to 128 of A-Z a-z 0-9 . _ -, not ${JSON.stringify(key)}`);
  const wrong = tenants.find((tenant) => !isSlug(tenant));
  if (wrong !== undefined)
    throw new ConfigError(`${at}.tenants should be tenant slugs, but ${JSON.stringify(wrong)} is none`);
}

function onnxEmbedder(at: string, mapping: Mapping): EmbedderInstance {
  const values = checkedMapping(at, mapping, ONNX_EMBEDDER_FIELDS);
  const { key, tenants, path, file, dim, pooling, max_tokens, query_prefix, passage_prefix } = values;
  const model = fromFolder(() =>
    readModelFolder(at, {
      path,
      file,
      dim,
      pooling,
      maxTokens: max_tokens,
      queryPrefix: query_prefix,
      passagePrefix: passage_prefix,
    }),
  );
  const shaping = given({
    file: file !== undefined && GRAPHS.includes(file) ? undefined : file,
    pooling,
    query_prefix,
    passage_prefix,
  });
  const space = spaceOf('onnx', values.model ?? basename(resolve(path)), { dim: model.dim, ...shaping });
  return { key, space, ...given({ tenants }), spec: { key, type: 'onnx', model } };
}

function fromFolder<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof ModelFolderError ? new ConfigError(error.message) : error;
  }
}

function openAiEmbedder(at: string, mapping: Mapping, env: NodeJS.ProcessEnv): EmbedderInstance {
  const values = checkedMapping(at, mapping, OPENAI_FIELDS);
  const { key, tenants, dim, query_prefix, passage_prefix } = values;
  const endpoint = {
    ...endpointOf(at, values, env),
    dim,
    sendsDimensions: values.send_dimensions,
    inputsMax: values.inputs_max,
    tokensMax: values.tokens_max,
    charactersMax: values.max_characters,
    queryPrefix: query_prefix,
    passagePrefix: passage_prefix,
  };
  const shaping = given({ query_prefix: query_prefix || undefined, passage_prefix: passage_prefix || undefined });
  const space = spaceOf('openai', endpoint.model, { dim, ...shaping });
  return { key, space, ...given({ tenants }), spec: { key, type: 'openai', endpoint } };
}

/** In the order of the configuration. */
export function readRerankers(mappings: readonly Mapping[], env: NodeJS.ProcessEnv): RerankerInstance[] {
  const placeOf = (i: number): string => `rerank.instances[${i}]`;
  const instances = mappings.map((mapping, i) => readReranker(placeOf(i), mapping, env));
  const keys = instances.map(({ key }) => key);
  keys.forEach((key, i) => {
    const first = keys.indexOf(key);
    if (first !== i) throw new ConfigError(`${placeOf(i)}.key is the same as that of ${placeOf(first)}: ${key}`);
  });
  return instances;
}

function readReranker(at: string, mapping: Mapping, env: NodeJS.ProcessEnv): RerankerInstance {
  const { type } = checkedMapping(at, { type: mapping.type }, RERANKER_TYPE);
  const instance = type === 'onnx' ? onnxReranker(at, mapping) : remoteReranker(at, mapping, env);
  checkIdentity(at, instance);
  return instance;
}

function onnxReranker(at: string, mapping: Mapping): RerankerInstance {
  const values = checkedMapping(at, mapping, ONNX_RERANKER_FIELDS);
  const { key, tenants, path, file, max_tokens: maxTokens } = values;
  const model = fromFolder(() => readRerankerFolder(at, { path, file, maxTokens }));
  return { key, ...given({ tenants }), spec: { key, type: 'onnx', model } };
}

function remoteReranker(at: string, mapping: Mapping, env: NodeJS.ProcessEnv): RerankerInstance {
  const values = checkedMapping(at, mapping, REMOTE_RERANKER_FIELDS);
  const { key, tenants } = values;
  return { key, ...given({ tenants }), spec: { key, type: 'endpoint', endpoint: endpointOf(at, values, env) } };
}

/** Throws ConfigError for an invalid URL, and for a missing API key. */
export function endpointOf(at: string, values: Values<typeof ENDPOINT_FIELDS>, env: NodeJS.ProcessEnv): EndpointSpec {
  return {
    url: checkedUrl(`${at}.url`, values.url),
    model: values.model,
    apiKey: apiKeyOf(at, values.api_key_env, values.api_key_file, env),
    timeoutMs: values.timeout_seconds * 1000,
    retriesMax: values.retries,
    requestsPerMinute: values.requests_per_minute,
    tokensPerMinute: values.tokens_per_minute,
    callsMax: values.calls_max,
  };
}

/** Errors do not show the URL, which may contain a password. */
function checkedUrl(at: string, address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new ConfigError(`${at} should be an http or https URL`);
  if (url.username || url.password || /[?#]/.test(url.href))
    throw new ConfigError(`${at} should have no user, password, query or fragment`);
  return url.href.replace(/\/+$/, '');
}

function apiKeyOf(at: string, variable: string, file: string, env: NodeJS.ProcessEnv): string {
  if (variable && file) throw new ConfigError(`${at} has both api_key_env and api_key_file; set only one`);
  if (file) return checkedApiKey(`${at}.api_key_file`, readKeyFile(`${at}.api_key_file`, file));
  // The value is not shown unless it looks like the name of a variable, because someone may have put the key itself
  // here.
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

/** HTTP header values allow no other characters. */
function checkedApiKey(at: string, content: string): string {
  const key = content.trim();
  if (!/^[\x20-\x7e]+$/.test(key))
    throw new ConfigError(
      `${at} ${key === '' ? 'gives an empty key' : 'gives a key that is not a single line of ASCII'}`,
    );
  return key;
}
