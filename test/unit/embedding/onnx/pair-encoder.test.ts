// Pairs of texts: joined as the tokenizer joins them, and truncated as Hugging Face's tokenizers do.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Tokenizer } from '@huggingface/tokenizers';
import { createPrng } from '../../../../src/base/prng.js';
import {
  createPairEncoder,
  fittingLengths,
  pairFrameOf,
  type PairEncoder,
} from '../../../../src/embedding/rerank/cross-encoder.js';
import { CROSS_ENCODER } from '../../../kit/cross-encoder/naive-scores.js';

const json = JSON.parse(readFileSync(`${CROSS_ENCODER.directory}/tokenizer.json`, 'utf8')) as {
  post_processor: unknown;
};
const special = (id: string, type: number): object => ({ SpecialToken: { id, type_id: type } });
const text = (id: string, type: number): object => ({ Sequence: { id, type_id: type } });
const template = (...pair: object[]): object => ({
  type: 'TemplateProcessing',
  single: [text('A', 0)],
  pair,
  special_tokens: {},
});

const POST_PROCESSORS: [string, unknown][] = [
  ['BERT', json.post_processor],
  ['BERT in its older form', { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] }],
  [
    'RoBERTa',
    { type: 'RobertaProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2], trim_offsets: true, add_prefix_space: false },
  ],
  [
    'XLM-RoBERTa',
    template(
      special('[CLS]', 0),
      text('A', 0),
      special('[SEP]', 0),
      special('[SEP]', 0),
      text('B', 0),
      special('[SEP]', 0),
    ),
  ],
  ['nothing in front', template(text('A', 0), special('[SEP]', 0), text('B', 1))],
];

function encoderOf(tokenizer: Tokenizer, tokensMax: number): PairEncoder {
  return createPairEncoder(
    pairFrameOf(tokenizer),
    (content) => tokenizer.encode(content, { add_special_tokens: false }).ids,
    tokensMax,
  );
}

for (const [name, post_processor] of POST_PROCESSORS) {
  test(`a pair is what the tokenizer makes of it: ${name}`, () => {
    const tokenizer = new Tokenizer({ ...json, post_processor }, {});
    const encoder = encoderOf(tokenizer, 64);
    for (const [query, passage] of [
      ['the whale', 'a white whale on the ocean'],
      ['a', 'b'],
      ['b b', 'a'],
      ['nemo?', 'Captain Nemo: commands!'],
    ] as const) {
      const { ids, token_type_ids: types } = tokenizer.encode(query, {
        text_pair: passage,
        return_token_type_ids: true,
      });
      const expected = name === 'RoBERTa' ? types.map(() => 0) : types;
      assert.deepEqual(encoder(query)(passage), { ids, types: expected, isTruncated: false });
    }
  });
}

test('a passage that is too long is cut, the special tokens behind it stay', () => {
  const tokenizer = new Tokenizer(json, {});
  const pair = encoderOf(tokenizer, 10)('white whale');
  const [whole, cut] = [pair('the ocean'), pair('the ocean and the island and the harbour')];
  assert.equal(whole.ids.length, 7);
  assert.deepEqual(cut, {
    ids: [...whole.ids.slice(0, 6), ...tokenizer.encode('and the island', { add_special_tokens: false }).ids, 3],
    types: [0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
    isTruncated: true,
  });
});

test('texts that are empty leave the special tokens', () => {
  const encoder = encoderOf(new Tokenizer(json, {}), 10);
  assert.deepEqual(encoder('')(''), { ids: [2, 3, 3], types: [0, 0, 1], isTruncated: false });
  assert.throws(() => encoderOf(new Tokenizer(json, {}), 4), /4 tokens leave no space for two texts/);
});

/** Lengths that tokenizers 0.23.3 gives with `enable_truncation(room + 3, strategy='longest_first')`. */
const LENGTHS: [room: number, query: number, passage: number, kept: [number, number]][] = [
  [7, 20, 20, [3, 4]],
  [7, 3, 20, [3, 4]],
  [7, 20, 3, [4, 3]],
  [7, 20, 19, [4, 3]],
  [7, 19, 20, [3, 4]],
  [7, 5, 5, [3, 4]],
  [8, 3, 20, [3, 5]],
  [8, 20, 3, [5, 3]],
  [8, 20, 19, [4, 4]],
];

test("lengths are those of Hugging Face's own library", () => {
  for (const [room, query, passage, kept] of LENGTHS)
    assert.deepEqual(fittingLengths(query, passage, room), kept, `${room} ${query} ${passage}`);
});

test('lengths are, but for the odd token, those of taking tokens from the longer text one by one', () => {
  const prng = createPrng(7);
  for (let i = 0; i < 20_000; i++) {
    const [query, passage, room] = [prng.int(20), prng.int(60), 1 + prng.int(40)];
    let [a, b] = [query, passage];
    while (a + b > room) {
      if (a > b) a--;
      else b--;
    }
    const [queryLength, passageLength] = fittingLengths(query, passage, room);
    assert.equal(queryLength + passageLength, Math.min(query + passage, room), `${query} ${passage} ${room}`);
    assert.ok(Math.abs(queryLength - a) <= 1, `${query} ${passage} ${room}: ${queryLength} of the query, not ${a}`);
  }
});
