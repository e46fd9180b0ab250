// Splitting words of unusual Unicode: the expected values come from tokenizers 0.23.3 (BERT) and Python's \w+.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { bertWords, forEachTerm, plainWords } from '../../../src/embedding/builtin/word-pieces.js';

interface Case {
  readonly name: string;
  readonly text: string;
  readonly bert: readonly string[];
  readonly plain: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: 'ASCII',
    text: "Don't me_now v1.2",
    bert: ['don', "'", 't', 'me', '_', 'now', 'v1', '.', '2'],
    plain: ['don', 't', 'me_now', 'v1', '2'],
  },
  { name: 'ASCII symbols', text: 'a$b+c~d^e`f|g<h', bert: [...'a$b+c~d^e`f|g<h'], plain: [...'abcdefgh'] },
  { name: 'precomposed accents', text: 'Naïve CAFÉ', bert: ['naive', 'cafe'], plain: ['naïve', 'café'] },
  { name: 'combining accents', text: 'Cafe\u0301 x', bert: ['cafe', 'x'], plain: ['cafe', 'x'] },
  {
    name: 'ideographs, kana and hangul',
    text: '数据かな한글',
    bert: ['数', '据', 'かな한글'.normalize('NFD')],
    plain: ['数据かな한글'],
  },
  { name: 'an ideograph beyond the BMP', text: 'a𠀀b', bert: ['a', '𠀀', 'b'], plain: ['a𠀀b'] },
  { name: 'a family of emoji', text: 'ok👩\u200d💻!', bert: ['ok👩💻', '!'], plain: ['ok'] },
  {
    name: 'Turkish dotted and dotless i',
    text: 'İstanbul ılık',
    bert: ['istanbul', 'ılık'],
    plain: ['i', 'stanbul', 'ılık'],
  },
  { name: 'final sigma', text: 'ΟΔΟΣ', bert: ['οδοσ'], plain: ['οδος'] },
  { name: 'sharp s and ligatures', text: 'Straße ﬁn', bert: ['straße', 'ﬁn'], plain: ['straße', 'ﬁn'] },
  { name: 'control characters vanish', text: 'a\0b\x0bc\x7fd\x85e', bert: ['abcde'], plain: ['a', 'b', 'c', 'd', 'e'] },
  { name: 'format characters vanish', text: 'a\u200bb\u00adc\ufeffd', bert: ['abcd'], plain: ['a', 'b', 'c', 'd'] },
  {
    name: 'tabs, line ends and odd spaces',
    text: 'a\tb\nc\rd\u00a0e\u2028f\u3000g',
    bert: [...'abcdefg'],
    plain: [...'abcdefg'],
  },
  {
    name: 'punctuation beyond ASCII',
    text: '“a”…b—c、d',
    bert: ['“', 'a', '”', '…', 'b', '—', 'c', '、', 'd'],
    plain: [...'abcd'],
  },
  { name: 'numbers that are no digits', text: 'x² ½ Ⅷ', bert: ['x²', '½', 'ⅷ'], plain: ['x²', '½', 'ⅷ'] },
  {
    name: 'replacement characters and unpaired surrogates',
    text: 'a\ufffdb\ud800c',
    bert: ['abc'],
    plain: ['a', 'b', 'c'],
  },
  { name: 'nothing', text: '', bert: [], plain: [] },
  { name: 'nothing but spaces and marks', text: ' \u0301\u200b\n', bert: [], plain: [] },
];

for (const { name, text, bert, plain } of CASES) {
  test(`splits ${name}`, () => {
    assert.deepEqual(bertWords(text), bert);
    assert.deepEqual(plainWords(text), plain);
  });
}

test('the words of the terms are the words of the text', () => {
  const alphabet = [..."abΣİé数.,'_-$ \n\t\0\u0301\u200b\u00a0\u2028”👩\u{1d165}"];
  const seed = 20;
  const prng = createPrng(seed);
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: prng.int(30) }, () => alphabet[prng.int(alphabet.length)]).join('');
    const terms: string[] = [];
    forEachTerm(text, (term) => terms.push(term));
    const label = `seed ${seed}, round ${round}, ${JSON.stringify(text)}`;
    assert.deepEqual(terms.flatMap(bertWords), bertWords(text), label);
    assert.deepEqual(terms.flatMap(plainWords), plainWords(text), label);
  }
});
