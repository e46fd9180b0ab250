// Real models in the runner: agreement with reference vectors, the choice of the output, prefixes, matryoshka
// dimensions, truncation, texts in a batch compared with the same texts alone, and each way in which a graph can be
// unfit.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { cosine, dot } from '../../../../load/kit/cosine.js';
import type { Pooling } from '../../../../src/embedding/embedder-spec.js';
import {
  folderWith,
  MINILM,
  modelWith,
  openModel,
  randomTexts,
  SMOKE,
  unlessThere,
  WORD_VECTORS,
} from '../../../kit/embedding/onnx-models.js';

const REFERENCE = '../shared/data/minilm-reference-100';

for (const [file, floor] of [
  ['onnx/model.onnx', 0.9999],
  ['onnx/model_quantized.onnx', 0.98],
] as const) {
  test(`${file}: every reference vector, to a cosine of ${floor}`, unlessThere(MINILM, REFERENCE), async () => {
    const reference = JSON.parse(readFileSync(`${REFERENCE}/spearman_smoke_1k.json`, 'utf8')) as {
      text: string;
      teacher_emb: number[];
    }[];
    const { rows } = await openModel({ path: MINILM, file });
    const vectors = await rows(reference.map(({ text }) => text));
    reference.forEach(({ text, teacher_emb }, i) => {
      assert.ok(cosine(vectors[i]!, teacher_emb) >= floor, `${cosine(vectors[i]!, teacher_emb)}: ${text}`);
      assert.ok(Math.abs(dot(vectors[i]!, vectors[i]!) - 1) < 1e-5);
    });
  });
}

test("our pooling gives the graph's own vector", unlessThere(WORD_VECTORS), async () => {
  const texts = randomTexts(1, 40, 30);
  const own = await (await openModel({ path: WORD_VECTORS })).rows(texts);
  const pooled = await (await openModel({ path: WORD_VECTORS, pooling: 'mean' })).rows(texts);
  texts.forEach((text, i) =>
    assert.ok(
      own[i]!.every((value, j) => Math.abs(value - pooled[i]![j]!) < 1e-6),
      text,
    ),
  );
});

test('poolings differ', unlessThere(MINILM), async () => {
  const ways: Pooling[] = ['mean', 'cls', 'max', 'last_token'];
  const vectors = await Promise.all(
    ways.map(
      async (pooling) => (await (await openModel({ path: MINILM, pooling })).rows(['supersonic flow past a wing']))[0]!,
    ),
  );
  ways.forEach((way, i) =>
    ways
      .slice(i + 1)
      .forEach((other, j) => assert.ok(cosine(vectors[i]!, vectors[i + 1 + j]!) < 0.99, `${way} and ${other}`)),
  );
});

test('a text of which nothing is known has a vector of zeros', unlessThere(WORD_VECTORS), async () => {
  const { rows } = await openModel({ path: WORD_VECTORS });
  for (const row of await rows(['', 'qzxv', '数据'])) assert.deepEqual(row, new Float32Array(300));
});

for (const [name, model, seed] of [
  ['word vectors', WORD_VECTORS, 4],
  ['a transformer', MINILM, 5],
] as const) {
  test(`${name}: in random company as alone, to 1e-5`, unlessThere(model), async () => {
    const { embed, rows, dim } = await openModel({ path: model });
    const messages = [40, 1, 7, 1, 3, 25].map((count, i) => randomTexts(seed + i, count, i % 2 === 0 ? 12 : 60));
    const together = await Promise.all(messages.map((texts, i) => embed(texts, 'passage', () => i === 5)));
    for (const [i, texts] of messages.entries()) {
      if (i === 5) continue;
      for (const [place, text] of texts.entries()) {
        const [alone] = await rows([text]);
        const row = together[i]!.vectors.subarray(place * dim, (place + 1) * dim);
        alone!.forEach((value, j) =>
          assert.ok(
            Math.abs(value - row[j]!) < 1e-5,
            `message ${i}, text ${place}, component ${j}: ${row[j]}, not ${value}`,
          ),
        );
      }
    }
  });
}

test('int8: in a batch the same bits as alone', unlessThere(MINILM), async () => {
  const { rows } = await openModel({ path: MINILM, file: 'onnx/model_quantized.onnx' });
  const texts = randomTexts(6, 20, 20);
  const together = await rows(texts);
  for (const [i, text] of texts.entries()) assert.deepEqual((await rows([text]))[0], together[i], text);
});

test('prefixes of the folder stand before queries and passages', unlessThere(MINILM), async () => {
  const path = modelWith(MINILM, {
    'config_sentence_transformers.json': { prompts: { query: 'query: ', passage: 'passage: ' } },
  });
  const prefixed = await openModel({ path });
  const plain = await openModel({ path, queryPrefix: '', passagePrefix: '' });
  const [query, passage] = [await prefixed.rows(['how wings lift'], 'query'), await prefixed.rows(['how wings lift'])];
  const expected = await plain.rows(['query: how wings lift', 'passage: how wings lift', 'how wings lift'], 'query');
  assert.ok(cosine(query[0]!, expected[0]!) > 0.99999 && cosine(passage[0]!, expected[1]!) > 0.99999);
  assert.ok(cosine(query[0]!, expected[2]!) < 0.999);
});

test('matryoshka: the first dimensions, of length 1 again', unlessThere(MINILM), async () => {
  const [whole] = await (await openModel({ path: MINILM })).rows(['a text']);
  const [cut] = await (await openModel({ path: MINILM, dim: 64 })).rows(['a text']);
  assert.equal(cut!.length, 64);
  assert.ok(cosine(cut!, whole!.subarray(0, 64)) > 0.999999 && Math.abs(dot(cut!, cut!) - 1) < 1e-5);
});

test(
  'what lies behind the length that the model reads does not count, and is told; the prefix counts',
  unlessThere(MINILM),
  async () => {
    const { embed, isTruncated, dim } = await openModel({ path: MINILM, maxTokens: 12, passagePrefix: 'passage: ' });
    const texts = ['wing '.repeat(8), 'wing '.repeat(9), `${'wing '.repeat(8)}flow`];
    const { vectors, truncated } = await embed(texts, 'passage', () => false);
    assert.deepEqual(truncated, Uint8Array.from([0, 1, 1]));
    assert.deepEqual(texts.map(isTruncated), [false, true, true]);
    assert.ok(cosine(vectors.subarray(0, dim), vectors.subarray(dim, 2 * dim)) > 0.999999);
  },
);

/** Only the ids 0 to 19, which the graphs with random weights accept. */
const TINY_VOCABULARY = Object.fromEntries(
  ['[PAD]', '[UNK]', '[CLS]', '[SEP]', ...'abcdefghijklmnop'].map((token, id) => [token, id]),
);

function smokeModel(
  graph: string,
  config: Record<string, unknown> = { hidden_size: 16 },
  more: Record<string, unknown> = {},
): string {
  const model = {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: TINY_VOCABULARY,
  };
  return folderWith({
    'model.onnx': readFileSync(`${SMOKE}/${graph}`),
    'tokenizer.json': { model, pre_tokenizer: { type: 'Whitespace' } },
    'config.json': config,
    ...more,
  });
}

for (const graph of ['dummy_transformer.onnx', 'dummy_transformer_without_type_ids.onnx']) {
  test(`${graph}: runs with the inputs that it names`, unlessThere(SMOKE), async () => {
    const { rows } = await openModel({ path: smokeModel(graph) });
    const [row] = await rows(['a b c']);
    assert.ok(row!.length === 16 && Math.abs(dot(row!, row!) - 1) < 1e-5);
  });
}

test('a token that the graph does not know fails its text, and no other', unlessThere(SMOKE), async () => {
  const path = smokeModel('dummy_transformer.onnx');
  const tokenizer = JSON.parse(readFileSync(`${path}/tokenizer.json`, 'utf8')) as {
    model: { vocab: Record<string, number> };
  };
  tokenizer.model.vocab.beyond = 4000;
  const { embed, faults } = await openModel({ path: folderWith({ 'tokenizer.json': tokenizer }, path) });
  const { failures } = await embed(['a b', 'a beyond', 'c d'], 'passage', () => false);
  assert.deepEqual([...(failures?.keys() ?? [])], [1]);
  assert.equal(faults.length, 1);
});

test('unfit graphs are refused, each with its reason', unlessThere(SMOKE), async () => {
  const modules = [
    { type: 'sentence_transformers.models.Transformer', path: '' },
    { type: 'sentence_transformers.models.Dense', path: '2_Dense' },
  ];
  await assert.rejects(
    openModel({ path: smokeModel('mock_sentence_embedder.onnx') }),
    /requires an input|requires \w+ as float/,
  );
  await assert.rejects(
    openModel({ path: smokeModel('dummy_transformer.onnx', { hidden_size: 8 }) }),
    /vectors of 16 numbers, not 8|the model gave/,
  );
  await assert.rejects(
    openModel({ path: smokeModel('dummy_transformer.onnx', { hidden_size: 16 }, { 'modules.json': modules }) }),
    /no output of sentence_embedding.*it has output_0/,
  );
});

test('a cut-off graph is refused', unlessThere(WORD_VECTORS), async () => {
  const cut = readFileSync(`${WORD_VECTORS}/onnx/model.onnx`).subarray(0, 100_000);
  await assert.rejects(openModel({ path: modelWith(WORD_VECTORS, { 'onnx/model.onnx': cut }) }), /model\.onnx/);
});
