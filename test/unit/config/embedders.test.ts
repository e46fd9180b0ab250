// The configuration of embedders: which instances and vector spaces it makes, and the message for each kind of mistake.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { readConfig } from '../../../src/config/load.js';
import type { EmbedderInstance, OnnxModel, OpenAiEndpoint } from '../../../src/embedding/embedder-spec.js';
import { tempDirectory } from '../../kit/temp.js';

const directory = tempDirectory();
const onnx = { key: 'minilm', type: 'onnx', path: modelFolder('tiny-model') };
const openai = {
  key: 'eu',
  type: 'openai',
  url: 'https://api.example.com/v1/',
  model: 'text-embedding-3-small',
  dim: 1536,
};

/** A model folder with only the files that reading the configuration looks at. */
function modelFolder(name: string): string {
  const path = join(directory, name);
  mkdirSync(join(path, 'onnx'), { recursive: true });
  for (const graph of ['model.onnx', 'model_quantized.onnx']) writeFileSync(join(path, 'onnx', graph), '');
  writeFileSync(join(path, 'config.json'), JSON.stringify({ hidden_size: 384, max_position_embeddings: 512 }));
  writeFileSync(join(path, 'tokenizer.json'), JSON.stringify({ model: { type: 'WordPiece', vocab: {} } }));
  return path;
}

function read(
  embedder: { instances?: object[]; model?: string; default?: string },
  env: Record<string, string> = {},
): ReturnType<typeof readConfig>['embedder'] {
  const file = join(directory, 'sheaf.yaml');
  writeFileSync(file, stringify({ embedder }));
  return readConfig({ SHEAF_CONFIG: file, ...env }).embedder;
}

const instancesOf = (...instances: object[]): EmbedderInstance[] => read({ instances }).instances;
const modelOf = ({ spec }: EmbedderInstance): OnnxModel => (spec as { model: OnnxModel }).model;
const endpointOf = ({ spec }: EmbedderInstance): OpenAiEndpoint => (spec as { endpoint: OpenAiEndpoint }).endpoint;
const keysOf = (instances: readonly EmbedderInstance[]): string[] =>
  instances.map(({ space }) => space.vector_space_key);

test('nothing given: the built-in embedder, which is the default', () => {
  const { instances, default: selector } = read({});
  assert.deepEqual([instances.map(({ key }) => key), selector], [['builtin'], '']);
});

test('a model folder is the instance `model` and the default, unless another is', () => {
  const { instances, default: selector } = read({ model: onnx.path });
  assert.deepEqual(
    [instances.map(({ key }) => key), selector, keysOf(instances)[0]],
    [['model', 'builtin'], 'model', 'onnx:tiny-model:dim=384'],
  );
  assert.equal(read({ model: onnx.path, default: 'builtin' }).default, 'builtin');
});

test('instances from the environment, as YAML', () => {
  const { instances } = readConfig({
    SHEAF_EMBEDDER__INSTANCES: stringify([openai]),
    SHEAF_EMBEDDER__DEFAULT: 'eu',
  }).embedder;
  assert.deepEqual(
    instances.map(({ key, spec }) => [key, spec.type]),
    [
      ['eu', 'openai'],
      ['builtin', 'builtin'],
    ],
  );
});

test('the space of an onnx instance is told by what shapes it, and by nothing else', () => {
  const plain = { ...onnx, max_tokens: 100, tenants: ['acme'] };
  const shaped = {
    ...onnx,
    key: 'b',
    model: 'all-MiniLM',
    file: 'onnx/model_quantized.onnx',
    dim: 128,
    pooling: 'cls',
    query_prefix: 'query: ',
    passage_prefix: 'a,b=c%',
  };
  const instances = instancesOf(plain, shaped, { ...onnx, key: 'c', file: 'onnx/model.onnx' });
  assert.deepEqual(keysOf(instances).slice(0, 3), [
    'onnx:tiny-model:dim=384',
    'onnx:all-MiniLM:dim=128,file=onnx/model_quantized.onnx,passage_prefix=a%2Cb%3Dc%25,pooling=cls,query_prefix=query: ',
    'onnx:tiny-model:dim=384',
  ]);
  assert.deepEqual(instances[0]?.tenants, ['acme']);
  assert.deepEqual(instances[1]?.space.embedder_config, {
    dim: 128,
    file: 'onnx/model_quantized.onnx',
    pooling: 'cls',
    query_prefix: 'query: ',
    passage_prefix: 'a,b=c%',
  });
  const { tokensMax, dim, pooling, file } = modelOf(instances[1] as EmbedderInstance);
  assert.deepEqual(
    [modelOf(instances[0] as EmbedderInstance).tokensMax, tokensMax > 100, dim, pooling, file],
    [100, true, 128, 'cls', 'onnx/model_quantized.onnx'],
  );
});

test('an endpoint gets its bounds, its key comes from outside, and neither key nor URL is in its space', () => {
  writeFileSync(join(directory, 'key'), 'sk-file\n');
  const bounds = {
    send_dimensions: true,
    inputs_max: 10,
    tokens_max: 1000,
    max_characters: 99,
    timeout_seconds: 2,
    retries: 0,
    requests_per_minute: 5,
    tokens_per_minute: 6,
    calls_max: 3,
  };
  const instances = [
    { ...openai, api_key_env: 'A_KEY', query_prefix: 'q: ', ...bounds },
    { ...openai, key: 'us', api_key_file: join(directory, 'key'), query_prefix: '' },
  ];
  const [eu, us] = read({ instances }, { A_KEY: 'sk-env' }).instances as [EmbedderInstance, EmbedderInstance];
  assert.deepEqual(endpointOf(eu), {
    url: 'https://api.example.com/v1',
    model: 'text-embedding-3-small',
    apiKey: 'sk-env',
    timeoutMs: 2000,
    retriesMax: 0,
    requestsPerMinute: 5,
    tokensPerMinute: 6,
    callsMax: 3,
    dim: 1536,
    sendsDimensions: true,
    inputsMax: 10,
    tokensMax: 1000,
    charactersMax: 99,
    queryPrefix: 'q: ',
    passagePrefix: '',
  });
  const { apiKey, inputsMax, sendsDimensions, callsMax } = endpointOf(us);
  assert.deepEqual([apiKey, inputsMax, sendsDimensions, callsMax], ['sk-file', 2048, false, 8]);
  assert.deepEqual(keysOf([eu, us]), [
    'openai:text-embedding-3-small:dim=1536,query_prefix=q: ',
    'openai:text-embedding-3-small:dim=1536',
  ]);
  assert.ok(!JSON.stringify([eu.space, us.space]).includes('sk-'));
});

const MISTAKES: [string, Parameters<typeof read>[0], RegExp][] = [
  ['no type', { instances: [{ key: 'a' }] }, /embedder\.instances\[0\]\.type should be one of onnx, openai$/],
  [
    'no such type',
    { instances: [openai, { key: 'a', type: 'sbert' }] },
    /embedder\.instances\[1\]\.type should be one of onnx, openai, not "sbert"/,
  ],
  [
    'a type that every object has',
    { instances: [{ key: 'a', type: 'constructor' }] },
    /embedder\.instances\[0\]\.type/,
  ],
  [
    'a field of another type',
    { instances: [{ ...onnx, url: 'x' }] },
    /embedder\.instances\[0\]\.url: there is no such field/,
  ],
  ['no key', { instances: [{ ...openai, key: undefined }] }, /embedder\.instances\[0\]\.key is missing/],
  [
    'a key that is no slug',
    { instances: [{ ...openai, key: 'a b' }] },
    /embedder\.instances\[0\]\.key should be a slug.*"a b"/,
  ],
  ['the key of the built-in embedder', { instances: [{ ...openai, key: 'builtin' }] }, /key must not be builtin/],
  ['a type as key', { instances: [{ ...openai, key: 'openai' }] }, /key must not be openai/],
  [
    'a key given twice',
    { instances: [openai, { ...openai, dim: 3 }] },
    /embedder\.instances\[1\]\.key eu is given twice/,
  ],
  [
    'the key of the model folder',
    { model: onnx.path, instances: [{ ...openai, key: 'model' }] },
    /embedder\.instances\[0\]\.key model is given twice: embedder\.model/,
  ],
  [
    'a tenant that is no slug',
    { instances: [{ ...openai, tenants: ['acme', 'a/b'] }] },
    /embedder\.instances\[0\]\.tenants should be tenant slugs, but "a\/b" is none/,
  ],
  [
    'no tenants at all',
    { instances: [{ ...openai, tenants: [] }] },
    /embedder\.instances\[0\]\.tenants should be a list/,
  ],
  [
    'a URL that is none',
    { instances: [{ ...openai, url: 'api.example.com' }] },
    /embedder\.instances\[0\]\.url should be an http or https URL/,
  ],
  [
    'a key in the URL',
    { instances: [{ ...openai, url: 'https://user:sk-1@example.com' }] },
    /embedder\.instances\[0\]\.url should have no user/,
  ],
  [
    'a key in the configuration',
    { instances: [{ ...openai, api_key: 'sk-secret' }] },
    /^(?!.*sk-secret).*embedder\.instances\[0\]\.api_key: there is no such field/,
  ],
  [
    'a variable that is not there',
    { instances: [{ ...openai, api_key_env: 'NO_SUCH_KEY' }] },
    /embedder\.instances\[0\]\.api_key_env: there is no environment variable NO_SUCH_KEY/,
  ],
  ['no dimension', { instances: [{ ...openai, dim: undefined }] }, /embedder\.instances\[0\]\.dim is missing/],
  [
    'no such pooling',
    { instances: [{ ...onnx, pooling: 'median' }] },
    /embedder\.instances\[0\]\.pooling should be one of mean, cls/,
  ],
  [
    'a folder that is not there',
    { instances: [{ ...onnx, path: join(directory, 'none') }] },
    /embedder\.instances\[0\]: .*none/,
  ],
  ['a model folder that is not there', { model: join(directory, 'none') }, /embedder\.model: .*none/],
  [
    'a default that names nothing',
    { default: 'minilm' },
    /embedder\.default is minilm: .*There are builtin \(builtin:static-minilm-512:dim=512\)/,
  ],
  [
    'a default of two spaces',
    { default: 'openai', instances: [openai, { ...openai, key: 'us', dim: 3 }] },
    /embedder\.default is openai: .*ambiguous.*eu.*us/,
  ],
];

for (const [what, embedder, message] of MISTAKES) {
  test(`${what} is refused by name`, () => {
    assert.throws(() => read(embedder), { name: 'ConfigError', message });
  });
}
