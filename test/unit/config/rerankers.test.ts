// The configuration of rerankers: what it makes, and the message for each kind of mistake.
import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { readRerankers } from '../../../src/config/embedders.js';
import { CROSS_ENCODER } from '../../kit/cross-encoder/naive-scores.js';
import { tempDirectory } from '../../kit/temp.js';

const { directory: path } = CROSS_ENCODER;
const directory = resolve(path);
const read = (
  mappings: Record<string, unknown>[],
  env: Record<string, string> = {},
): ReturnType<typeof readRerankers> => readRerankers(mappings, env);

test('a folder: its graph is found, and no more tokens are read than it takes', () => {
  const [found] = read([{ key: 'cross', type: 'onnx', path, tenants: ['acme'] }]);
  assert.deepEqual(found, {
    key: 'cross',
    tenants: ['acme'],
    spec: { key: 'cross', type: 'onnx', model: { directory, file: 'onnx/model.onnx', tokensMax: 64 } },
  });
  const [shorter] = read([{ key: 'cross', type: 'onnx', path, file: 'onnx/model.onnx', max_tokens: 32 }]);
  assert.deepEqual(shorter?.spec, {
    key: 'cross',
    type: 'onnx',
    model: { directory, file: 'onnx/model.onnx', tokensMax: 32 },
  });
});

test('a folder that says nothing of lengths is read with 512 tokens, its graph at the top', () => {
  const folder = tempDirectory();
  copyFileSync(join(path, 'tokenizer.json'), join(folder, 'tokenizer.json'));
  copyFileSync(join(path, CROSS_ENCODER.file), join(folder, 'model.onnx'));
  writeFileSync(join(folder, 'config.json'), '{"max_position_embeddings": 8194}');
  const [found] = read([{ key: 'cross', type: 'onnx', path: folder }]);
  assert.deepEqual(found?.spec, {
    key: 'cross',
    type: 'onnx',
    model: { directory: folder, file: 'model.onnx', tokensMax: 512 },
  });
});

test('an endpoint: its key comes from the environment', () => {
  const [found] = read(
    [
      {
        key: 'remote',
        type: 'endpoint',
        url: 'https://rerank.example/v1/',
        model: 'rerank-v3',
        api_key_env: 'RERANK_KEY',
        retries: 1,
      },
    ],
    { RERANK_KEY: 'secret' },
  );
  const endpoint = {
    url: 'https://rerank.example/v1',
    model: 'rerank-v3',
    apiKey: 'secret',
    timeoutMs: 30_000,
    retriesMax: 1,
    requestsPerMinute: 0,
    tokensPerMinute: 0,
    callsMax: 8,
  };
  assert.deepEqual(found, { key: 'remote', spec: { key: 'remote', type: 'endpoint', endpoint } });
});

const empty = tempDirectory();
const graphless = tempDirectory();
copyFileSync(join(path, 'tokenizer.json'), join(graphless, 'tokenizer.json'));

const MISTAKES: [string, Record<string, unknown>[], RegExp][] = [
  ['no type', [{ key: 'a', path }], /rerank\.instances\[0\]\.type is missing/],
  [
    'no such type',
    [{ key: 'a', type: 'cohere', path }],
    /rerank\.instances\[0\]\.type should be one of onnx, endpoint/,
  ],
  ['no key', [{ type: 'onnx', path }], /rerank\.instances\[0\]\.key is missing/],
  [
    'a key that is no slug',
    [{ key: 'a b', type: 'onnx', path }],
    /rerank\.instances\[0\]\.key should be a slug: up to 128/,
  ],
  [
    'a tenant that is no slug',
    [{ key: 'a', type: 'onnx', path, tenants: ['acme', '/'] }],
    /rerank\.instances\[0\]\.tenants should be tenant slugs, but "\/" is none/,
  ],
  [
    'an unknown field',
    [{ key: 'a', type: 'onnx', path, url: 'http://x' }],
    /rerank\.instances\[0\]\.url: there is no such field/,
  ],
  [
    'an empty folder',
    [{ key: 'a', type: 'onnx', path: empty }],
    /rerank\.instances\[0\]: .*tokenizer\.json is missing/,
  ],
  [
    'a graph that is not there',
    [{ key: 'a', type: 'onnx', path, file: 'onnx/int8.onnx' }],
    /rerank\.instances\[0\]: .* has no file onnx\/int8\.onnx/,
  ],
  [
    'a folder without a graph',
    [{ key: 'a', type: 'onnx', path: graphless }],
    /rerank\.instances\[0\]: .* has no ONNX graph/,
  ],
  [
    'more tokens than the model takes',
    [{ key: 'a', type: 'onnx', path, max_tokens: 65 }],
    /rerank\.instances\[0\]: the model reads at most 64 tokens, not 65/,
  ],
  [
    'an endpoint without a model',
    [{ key: 'a', type: 'endpoint', url: 'http://x' }],
    /rerank\.instances\[0\]\.model is missing/,
  ],
  [
    'a key variable that is not there',
    [{ key: 'a', type: 'endpoint', url: 'http://x', model: 'm', api_key_env: 'NONE' }],
    /api_key_env: there is no environment variable NONE/,
  ],
  [
    'a key given twice',
    [
      { key: 'a', type: 'onnx', path },
      { key: 'a', type: 'onnx', path },
    ],
    /rerank\.instances\[1\]\.key is the same as that of rerank\.instances\[0\]: a/,
  ],
];

for (const [what, mappings, message] of MISTAKES) {
  test(`${what} is refused by name`, () => assert.throws(() => read(mappings), { name: 'ConfigError', message }));
}
