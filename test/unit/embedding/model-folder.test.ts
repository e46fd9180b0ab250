// Reading a model folder: what its files say, what the configuration overrides, and each way in which a folder can be
// broken.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ModelFolderError,
  readModelFolder,
  type ModelFolderOptions,
} from '../../../src/embedding/onnx/model-folder.js';
import type { OnnxModel } from '../../../src/embedding/embedder-spec.js';
import { folderWith, MINILM, unlessThere } from '../../kit/embedding/onnx-models.js';

const PLAIN = {
  'onnx/model.onnx': 'graph',
  'tokenizer.json': { model: { type: 'WordPiece', vocab: {} } },
  'config.json': { hidden_size: 32, max_position_embeddings: 512, model_type: 'bert' },
};
const POOLING = '1_Pooling/config.json';

function read(files: Record<string, unknown> = {}, options: Partial<ModelFolderOptions> = {}): OnnxModel {
  return readModelFolder('embedder.instances[0]', { path: folderWith({ ...PLAIN, ...files }), ...options });
}

test('the shared model, as its files describe it', unlessThere(MINILM), () => {
  const { directory, ...model } = readModelFolder('test', { path: MINILM });
  assert.ok(directory.startsWith('/'));
  assert.deepEqual(model, {
    file: 'onnx/model.onnx',
    pooling: 'mean',
    ownVector: 'preferred',
    tokensMax: 256,
    modelDim: 384,
    dim: 384,
    queryPrefix: '',
    passagePrefix: '',
  });
});

test('a folder that says little: mean pooling, all that its positions allow, no prefixes', () => {
  const { pooling, ownVector, tokensMax, dim, queryPrefix, passagePrefix } = read();
  assert.deepEqual(
    { pooling, ownVector, tokensMax, dim, queryPrefix, passagePrefix },
    { pooling: 'mean', ownVector: 'preferred', tokensMax: 512, dim: 32, queryPrefix: '', passagePrefix: '' },
  );
});

test('the graph: below onnx, beside it, or as configured', () => {
  assert.equal(read().file, 'onnx/model.onnx');
  assert.equal(read({ 'onnx/model.onnx': undefined, 'model.onnx': 'graph' }).file, 'model.onnx');
  assert.equal(
    read({ 'onnx/model_quantized.onnx': 'graph' }, { file: 'onnx/model_quantized.onnx' }).file,
    'onnx/model_quantized.onnx',
  );
});

test('each way of pooling, and one that is configured', () => {
  const flags = {
    mean: 'pooling_mode_mean_tokens',
    cls: 'pooling_mode_cls_token',
    max: 'pooling_mode_max_tokens',
    mean_sqrt_len: 'pooling_mode_mean_sqrt_len_tokens',
    last_token: 'pooling_mode_lasttoken',
  };
  for (const [pooling, flag] of Object.entries(flags))
    assert.equal(read({ [POOLING]: { [flag]: true, pooling_mode_other: false } }).pooling, pooling);
  const configured = read(
    { [POOLING]: { pooling_mode_cls_token: true, word_embedding_dimension: 32 } },
    { pooling: 'max' },
  );
  assert.deepEqual([configured.pooling, configured.ownVector], ['max', 'never']);
});

test('the pooling lies where modules.json says', () => {
  const modules = [
    { type: 'sentence_transformers.models.Transformer', path: '' },
    { type: 'sentence_transformers.models.Pooling', path: 'pool' },
  ];
  assert.equal(read({ 'modules.json': modules, 'pool/config.json': { pooling_mode_cls_token: true } }).pooling, 'cls');
});

test('a Dense module makes the vector of the graph necessary, and tells its length', () => {
  const modules = ['Transformer', 'Pooling', 'Dense', 'Normalize'].map((kind, i) => ({
    type: `sentence_transformers.models.${kind}`,
    path: i === 0 ? '' : `${i}_${kind}`,
  }));
  const files = { 'modules.json': modules, '2_Dense/config.json': { in_features: 32, out_features: 24 } };
  const { ownVector, modelDim } = read(files);
  assert.deepEqual({ ownVector, modelDim }, { ownVector: 'always', modelDim: 24 });
  assert.throws(() => read(files, { pooling: 'cls' }), /Dense after its pooling/);
});

const LENGTHS: readonly (readonly [string, Record<string, unknown>, Partial<ModelFolderOptions>, number])[] = [
  ['as it was trained', { 'sentence_bert_config.json': { max_seq_length: 256 } }, {}, 256],
  ['as configured', { 'sentence_bert_config.json': { max_seq_length: 256 } }, { maxTokens: 128 }, 128],
  ['never more than there are positions', { 'sentence_bert_config.json': { max_seq_length: 1024 } }, {}, 512],
  ['as the tokenizer says', { 'tokenizer_config.json': { model_max_length: 77 } }, {}, 77],
  ['not as a tokenizer that knows no bound says', { 'tokenizer_config.json': { model_max_length: 1e30 } }, {}, 512],
  ['512 where nothing is said', { 'config.json': { hidden_size: 8 } }, {}, 512],
  [
    'long where it was trained so',
    {
      'config.json': { hidden_size: 8, max_position_embeddings: 8192 },
      'sentence_bert_config.json': { max_seq_length: 8192 },
    },
    {},
    8192,
  ],
  [
    'behind the padding of roberta',
    {
      'config.json': { hidden_size: 8, model_type: 'xlm-roberta', max_position_embeddings: 514, pad_token_id: 1 },
      'sentence_bert_config.json': { max_seq_length: 514 },
    },
    {},
    512,
  ],
];

for (const [name, files, options, tokensMax] of LENGTHS)
  test(`length: ${name}`, () => assert.equal(read(files, options).tokensMax, tokensMax));

test('prefixes: of the folder, of the configuration, empty ones too', () => {
  const prompts = { prompts: { query: 'query: ', passage: 'passage: ', other: 'x' }, default_prompt_name: null };
  const prefixes = (value: unknown, options: Partial<ModelFolderOptions> = {}): string[] => {
    const { queryPrefix, passagePrefix } = read({ 'config_sentence_transformers.json': value }, options);
    return [queryPrefix, passagePrefix];
  };
  assert.deepEqual(prefixes(prompts), ['query: ', 'passage: ']);
  assert.deepEqual(prefixes({ prompts: { query: 'q ', document: 'd ' } }), ['q ', 'd ']);
  assert.deepEqual(prefixes({ prompts: { query: 'q ', all: 'a ' }, default_prompt_name: 'all' }), ['q ', 'a ']);
  assert.deepEqual(prefixes(prompts, { queryPrefix: '', passagePrefix: 'p ' }), ['', 'p ']);
});

test('matryoshka: the first dimensions, never more than there are', () => {
  const { modelDim, dim } = read({}, { dim: 8 });
  assert.deepEqual({ modelDim, dim }, { modelDim: 32, dim: 8 });
  assert.equal(read({ 'config.json': {} }, { dim: 16 }).modelDim, 16);
});

const BROKEN: readonly (readonly [string, Record<string, unknown>, Partial<ModelFolderOptions>, RegExp])[] = [
  ['no folder', {}, { path: './no-such-folder' }, /^embedder\.instances\[0\]: \.\/no-such-folder is not a folder$/],
  ['no graph', { 'onnx/model.onnx': undefined }, {}, /has no ONNX graph onnx\/model\.onnx or model\.onnx; export one/],
  [
    'another graph',
    { 'onnx/model.onnx': undefined, 'onnx/model_O4.onnx': 'graph' },
    {},
    /name the one to use as its file: onnx\/model_O4\.onnx/,
  ],
  ['not the configured graph', {}, { file: 'onnx/model_quantized.onnx' }, /has no file onnx\/model_quantized\.onnx/],
  ['no tokenizer.json', { 'tokenizer.json': undefined }, {}, /tokenizer\.json is missing/],
  ['a tokenizer.json that is no JSON', { 'tokenizer.json': '{"model":' }, {}, /tokenizer\.json is not JSON/],
  ['a tokenizer.json without a model', { 'tokenizer.json': [] }, {}, /has no tokenizer model/],
  [
    'a tokenizer of another type',
    { 'tokenizer.json': { model: { type: 'WordLevel' } } },
    {},
    /of type WordLevel; supported are WordPiece, BPE, Unigram/,
  ],
  ['a config.json that is no object', { 'config.json': [] }, {}, /config\.json should be a JSON object/],
  ['a modules.json that is no list', { 'modules.json': {} }, {}, /modules\.json should be a JSON list/],
  [
    'a pooling that is not served',
    { [POOLING]: { pooling_mode_weightedmean_tokens: true } },
    {},
    /requires pooling_mode_weightedmean_tokens, which is not supported/,
  ],
  [
    'two poolings at once',
    { [POOLING]: { pooling_mode_cls_token: true, pooling_mode_max_tokens: true } },
    {},
    /one way of pooling/,
  ],
  [
    'prompts left out',
    { [POOLING]: { pooling_mode_mean_tokens: true, include_prompt: false } },
    {},
    /leaves prompts out/,
  ],
  ['no length', { 'config.json': {} }, {}, /the dimensions of its vectors: configure dim/],
  ['more dimensions than there are', {}, { dim: 33 }, /have 32 dimensions, not 33/],
  ['more tokens than positions', {}, { maxTokens: 513 }, /at most 512 tokens, not 513/],
];

for (const [name, files, options, message] of BROKEN) {
  test(`refused: ${name}`, () =>
    assert.throws(
      () => read(files, options),
      (error) => error instanceof ModelFolderError && message.test(error.message),
    ));
}
