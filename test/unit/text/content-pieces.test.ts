// The pieces of a value occur in every text that contains the value: shown for each code point, and for random texts
// over characters that normalization, case folding and tokens treat in special ways.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { type ContentPiece, createContentTest, piecesOf } from '../../../src/text/content-filter.js';
import { foldCase, plainOf, tokensOf } from '../../../src/text/tokenize.js';

/**
 * Whether the tokens of the piece follow each other somewhere. Where a piece is open, its outer tokens may be the end
 * or the beginning of a token of the text.
 */
function isIn(tokens: readonly string[], { tokens: wanted, isOpenAtStart, isOpenAtEnd }: ContentPiece): boolean {
  const fits = (found: string | undefined, i: number): boolean => {
    const token = wanted[i] as string;
    const [start, end] = [isOpenAtStart && i === 0, isOpenAtEnd && i === wanted.length - 1];
    if (found === undefined || (start && end)) return found?.includes(token) ?? false;
    return start ? found.endsWith(token) : end ? found.startsWith(token) : found === token;
  };
  return tokens.some((_, at) => wanted.every((_token, i) => fits(tokens[at + i], i)));
}

function assertHas(text: string, value: string): void {
  if (!createContentTest({ op: 'contains', value })(text)) return;
  const tokens = tokensOf(text);
  for (const piece of piecesOf(value)) assert.ok(isIn(tokens, piece), JSON.stringify({ text, value, tokens, piece }));
}

/** Letters of many scripts, marks that combine with letters, and characters that look like letters. */
const NASTY = [
  ...'abkszAKSZ 0159.-_ ',
  'é',
  'e\u0301',
  'ß',
  'ẞ',
  'ſ',
  'ﬁ',
  'ﬆ',
  'İ',
  'ı',
  'i\u0307',
  'K',
  'Å',
  'ø',
  'ł',
  'ǆ',
  'ǰ',
  'ŉ',
  'ẚ',
  'ｆ',
  'Ａ',
  '²',
  '½',
  '①',
  'Ⅷ',
  '℡',
  'Σ',
  'σ',
  'ς',
  'ι',
  'ᾳ',
  'ᾷ',
  'α',
  'ΐ',
  '\u0345',
  '\u0342',
  '\u0313',
  'й',
  'и',
  'И',
  '\u0306',
  '\u0308',
  'ё',
  'ж',
  'Я',
  '\u0301',
  '\u0323',
  '\u0338',
  '=',
  '<',
  '東',
  '京',
  '豈',
  '々',
  'か',
  'が',
  '\u3099',
  '\u309a',
  'ハ',
  'パ',
  'ﾊ',
  'ﾟ',
  'ー',
  '가',
  '각',
  'ᄀ',
  'ᅡ',
  'ᆨ',
  'ㄱ',
  'ไ',
  'ท',
  'ย',
  'ำ',
  'ี',
  '้',
  'क',
  '़',
  'क़',
  'ि',
  'ে',
  'া',
  'ا',
  'ٓ',
  'آ',
  'ﻻ',
  'ש',
  'ּ',
  'שּׁ',
  'և',
  'ﬓ',
  '\u{1f600}',
  '\u{1f468}\u200d\u{1f469}',
  '\u00ad',
  '\u200b',
  '\ufeff',
  '\u20e3',
  '\u{1d400}',
  '\u{10400}',
  '\u{10428}',
  '\u{16d63}',
  '\u{16d67}',
  '\u212a',
  '\t',
];

const draw = (prng: Prng, length: number): string =>
  Array.from({ length }, () => NASTY[prng.int(NASTY.length)]).join('');

function drawValue(prng: Prng, text: string): string {
  const forms = [
    text,
    foldCase(text),
    text.toUpperCase(),
    text.toLowerCase(),
    text.normalize('NFC'),
    text.normalize('NFD'),
    plainOf(text),
  ];
  const characters = [...(forms[prng.int(forms.length)] as string)];
  const from = prng.int(characters.length + 1);
  return characters.slice(from, from + 1 + prng.int(8)).join('');
}

for (const seed of [1, 2, 3, 4]) {
  test(`random texts and values cut from them (seed ${seed})`, () => {
    const prng = createPrng(seed);
    for (let i = 0; i < 5000; i++) {
      const text = draw(prng, 1 + prng.int(16));
      for (let n = 0; n < 4; n++) assertHas(text, drawValue(prng, text));
    }
  });
}

test('each code point between letters, with marks and without', () => {
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const character = String.fromCodePoint(code);
    // Of the ideographs and syllables, which all behave alike, only a sample.
    if (
      !/[\p{L}\p{N}\p{M}]/u.test(character) ||
      (/[\p{Script=Han}\p{Script=Hangul}\p{Script=Tangut}]/u.test(character) && code % 29 > 0)
    )
      continue;
    const folded = foldCase(character);
    for (const text of [`x${character}y`, `ж${character}ж\u0301`, `я${character}\u0345\u0301я`]) {
      for (const value of [character, `${text[0]}${folded}`, `${folded}${[...text].at(-1)}`, text.slice(0, -1), folded])
        assertHas(text, value);
    }
  }
});

test('named cases of values and their pieces', () => {
  const shown = (value: string): string[] =>
    piecesOf(value).map(
      ({ tokens, isOpenAtStart, isOpenAtEnd }) =>
        `${isOpenAtStart ? '*' : ''}${tokens.join(' ')}${isOpenAtEnd ? '*' : ''}`,
    );
  assert.deepEqual(shown('Flat plate'), ['*flat plate*']);
  assert.deepEqual(shown(' flat, '), ['flat']);
  assert.deepEqual(shown('東京'), ['東 京']);
  assert.deepEqual(shown('ひらがな'), ['ひ ら が']);
  assert.deepEqual(shown('капитан'), ['*капита*']);
  assert.deepEqual(shown('Café au lait'), ['*caf*', 'au lait*']);
  assert.deepEqual(shown('!?'), []);
  assert.deepEqual(piecesOf(`${'word '.repeat(500)}`)[0]?.tokens.length, 205);
});
