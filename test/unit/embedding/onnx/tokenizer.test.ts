// Tokens, compared with those of the reference implementation (tokenizers 0.23.3;
// test/kit/embedding/tokenizers/make.py), and the truncation of long texts.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadTokenizer } from '../../../../src/embedding/onnx/tokenizer.js';
import { folderWith, MINILM, modelWith, unlessThere } from '../../../kit/embedding/onnx-models.js';

const MADE = 'test/kit/embedding/tokenizers';
const expected = JSON.parse(readFileSync(`${MADE}/expected.json`, 'utf8')) as { texts: string[] } & Record<
  'bpe' | 'unigram' | 'word-piece',
  number[][]
>;

function agrees(name: 'bpe' | 'unigram' | 'word-piece', directory: string): void {
  const { encode } = loadTokenizer(directory, 512);
  expected.texts.forEach((text, i) =>
    assert.deepEqual(encode(text), { ids: expected[name][i], isTruncated: false }, JSON.stringify(text)),
  );
}

test('byte-level BPE', () => agrees('bpe', `${MADE}/bpe`));
test('Unigram', () => agrees('unigram', `${MADE}/unigram`));
test('WordPiece', unlessThere(MINILM), () => agrees('word-piece', MINILM));

for (const kind of ['bpe', 'unigram'] as const) {
  test(`${kind}: a long text is cut to the tokens wanted, its closing token kept`, () => {
    const short = loadTokenizer(`${MADE}/${kind}`, 10);
    expected.texts.forEach((text, i) => {
      const whole = expected[kind][i]!;
      const ids = whole.length <= 10 ? whole : [...whole.slice(0, 9), whole.at(-1)];
      assert.deepEqual(short.encode(text), { ids, isTruncated: whole.length > 10 }, JSON.stringify(text));
    });
  });

  test(`${kind}: of a very long text only the beginning is looked at, and gives the same tokens`, () => {
    const { encode } = loadTokenizer(`${MADE}/${kind}`, 64);
    const beginning = 'supersonic flow past a wing, '.repeat(100);
    const { ids, isTruncated } = encode(beginning + 'x'.repeat(10_000_000));
    assert.deepEqual({ ids, isTruncated }, encode(beginning));
  });
}

test('a text of few tokens and many characters is read to its end', unlessThere(MINILM), () => {
  const { encode, contentOf } = loadTokenizer(MINILM, 16);
  const [wing] = contentOf('wing', 1) as [number];
  assert.deepEqual(encode(`${' '.repeat(50_000)}wing`), { ids: [101, wing, 102], isTruncated: false });
  assert.deepEqual(encode(`${'x'.repeat(50_000)} wing`), { ids: [101, 100, wing, 102], isTruncated: false });
});

test('exactly as many tokens as are read are not truncated', unlessThere(MINILM), () => {
  const { encode } = loadTokenizer(MINILM, 8);
  assert.deepEqual(
    [6, 7].map((words) => encode('wing '.repeat(words)).isTruncated),
    [false, true],
  );
});

test('the padding token: by name, by id, else 0', unlessThere(MINILM), () => {
  const padOf = (files: Record<string, unknown>): number => loadTokenizer(modelWith(MINILM, files), 8).padId;
  assert.equal(padOf({ 'tokenizer_config.json': { pad_token: '[MASK]' } }), 103);
  assert.equal(padOf({ 'tokenizer_config.json': { pad_token: { content: '[MASK]' } } }), 103);
  assert.equal(padOf({ 'tokenizer_config.json': {}, 'config.json': { pad_token_id: 7 } }), 7);
  assert.equal(padOf({ 'tokenizer_config.json': {}, 'config.json': undefined }), 0);
});

test('what cannot be served is refused', () => {
  const whole = JSON.parse(readFileSync(`${MADE}/bpe/tokenizer.json`, 'utf8')) as Record<string, unknown>;
  const load =
    (tokenizer: unknown, tokensMax = 8) =>
    () =>
      loadTokenizer(folderWith({ 'tokenizer.json': tokenizer }), tokensMax);
  assert.throws(load(whole, 2), /2 tokens leave no space for a text/);
  assert.throws(
    load({ ...whole, post_processor: { type: 'RobertaProcessing', cls: ['<none>', 0], sep: ['</s>', 2] } }),
    /puts <none> around a text/,
  );
  assert.throws(load({ ...whole, pre_tokenizer: { type: 'Unheard' } }), /Unheard/);
  assert.throws(load('{'), /tokenizer\.json is not JSON/);
});
