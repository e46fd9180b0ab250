// Tokens: NFKC, case folding, Latin diacritics, words of scripts with and without spaces.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distinctTokens, foldCase, tokensOf } from '../../../src/text/tokenize.js';

const cases: [string, string, string[]][] = [
  ['words and numbers', 'The 39 steps, foo_bar; x-ray!', ['the', '39', 'steps', 'foo', 'bar', 'x', 'ray']],
  ['nothing', ' \t…!? ', []],
  ['Latin diacritics', 'Ångström café naïve Łódź smørrebrød', ['angstrom', 'cafe', 'naive', 'lodz', 'smorrebrod']],
  ['decomposed letters', 'cafe\u0301', ['cafe']],
  ['compatibility forms', 'ﬁne ＡＢＣ１２ ①', ['fine', 'abc12', '1']],
  ['full case folding', 'STRASSE Straße', ['strasse', 'strasse']],
  ['both small sigmas', 'ΟΔΟΣ οδός', ['οδοσ', 'οδόσ']],
  ['diacritics of other scripts stay', 'й и', ['й', 'и']],
  ['Turkish i', 'İstanbul ılık', ['istanbul', 'ilik']],
  [
    'scripts without spaces: a token a character',
    '東京タワー is ひらく',
    ['東', '京', 'タ', 'ワ', 'ー', 'is', 'ひ', 'ら', 'く'],
  ],
  ['Hangul, Arabic, Devanagari', '서울 مدينة हिन्दी', ['서울', 'مدينة', 'हिन्दी']],
];
for (const [what, text, expected] of cases) {
  test(`tokens: ${what}`, () => assert.deepEqual(tokensOf(text), expected));
}

test('an ASCII word is the same token in an ASCII text and beside other letters', () => {
  const words = "Foo_bar 3.14 x-RAY don't I A_1";
  assert.deepEqual(tokensOf(`${words} é`).slice(0, -1), tokensOf(words));
});

test('distinct tokens stand in their order and are bounded', () => {
  assert.deepEqual(distinctTokens('b a B c a d', 3), ['b', 'a', 'c']);
});

test('case folding keeps what is no letter', () => {
  assert.equal(foldCase('A-ß Σς!'), 'a-ss σσ!');
});
