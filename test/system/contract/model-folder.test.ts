// A model folder that the configuration names, over a real socket: the embedder that it becomes, and that its vectors
// rank by meaning.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { spawnServe, untilReady } from '../../kit/process.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const MODEL = '../shared/data/model-minilm-l6';
const skip = existsSync(MODEL) ? false : `${MODEL} is not there`;
const TEXTS = [
  'Captain Nemo commands the Nautilus.',
  'Bread is baked from flour and water.',
  'The interest rate was raised again.',
];

test('embedder.model is the default; a matryoshka and an int8 instance beside it are spaces of their own', {
  skip,
}, async () => {
  const cut = { key: 'cut', type: 'onnx', path: MODEL, model: 'minilm', dim: 128 };
  const int8 = { key: 'int8', type: 'onnx', path: MODEL, model: 'minilm', file: 'onnx/model_quantized.onnx' };
  const { call } = await startTestServer({
    SHEAF_EMBEDDER__MODEL: MODEL,
    SHEAF_EMBEDDER__INSTANCES: JSON.stringify([cut, int8]),
  });
  const { json: inventory } = await call('GET', '/v1/embedders/acme');
  assert.deepEqual(inventory.default, {
    vector_key: 'onnx:model-minilm-l6:dim=384',
    instance_keys: ['model'],
    selector: 'model',
  });
  for (const [name, body, dim] of [
    ['plain', {}, 384],
    ['cut', { embedder_type: 'onnx', embed_model: 'minilm', embedder_config: { dim: 128 } }, 128],
    ['int8', { embedder: 'int8' }, 384],
  ] as const) {
    assert.equal((await call('POST', `/v1/collections/acme/${name}`, body)).status, 201);
    for (const [i, text] of TEXTS.entries())
      assert.equal(
        (await call('POST', `/v1/collections/acme/${name}/documents`, { docid: `D${i}`, text })).status,
        201,
      );
    const { json } = await call('GET', `/v1/collections/acme/${name}/search?q=who+steers+the+submarine&k=3`);
    assert.deepEqual([json.matches.length, json.matches[0].meta.docid], [3, 'D0'], name);
    assert.equal(
      (await call('POST', `/v1/collections/acme/${name}/search`, { v: Array.from({ length: dim }, () => 1) })).status,
      200,
    );
  }
  const { json: found } = await call('GET', '/v1/collections/acme/int8/detail');
  assert.deepEqual(
    [found.vector_space_key, found.embedder_config],
    ['onnx:minilm:dim=384,file=onnx/model_quantized.onnx', { dim: 384, file: 'onnx/model_quantized.onnx' }],
  );
});

test('the start tells which embedders there are, the default first', { skip }, async () => {
  const server = spawnServe({ SHEAF_DATA_DIR: tempDirectory(), SHEAF_EMBEDDER__MODEL: MODEL });
  await untilReady(server);
  assert.match(server.output(), /^ {2}embedder {2}onnx:model-minilm-l6 \(default\), builtin:static-minilm-512$/m);
});
