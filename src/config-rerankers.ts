// Reads `rerank.instances`: each a folder with a cross-encoder, or an endpoint. Throws ConfigError with the place of
// what is wrong. Called by config.ts at start.
import { readEndpoint } from './config-endpoint.js';
import { checkedMapping, type Field } from './config-mapping.js';
import { ConfigError } from './config-tenant-keys.js';
import type { RerankerInstance, RerankerSpec } from './contract/embedder.js';
import { isSlug } from './contract/ids.js';
import { ModelFolderError } from './embedding/model-json.js';
import { readRerankerFolder } from './embedding/reranker-folder.js';

const TYPE = { type: { kind: 'text', of: ['onnx', 'endpoint'] } } as const satisfies Record<string, Field>;
const SHARED_FIELDS = {
  key: { kind: 'text' },
  ...TYPE,
  tenants: { kind: 'texts', fallback: undefined },
} as const satisfies Record<string, Field>;
const ONNX_FIELDS = {
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
  const values = checkedMapping(at, mapping, ONNX_FIELDS);
  const { path, file, max_tokens: maxTokens } = values as { path: string; file?: string; max_tokens?: number };
  try {
    return { values, spec: { type: 'onnx', model: readRerankerFolder(at, { path, file, maxTokens }) } };
  } catch (error) {
    throw error instanceof ModelFolderError ? new ConfigError(error.message) : error;
  }
}
