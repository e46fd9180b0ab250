// The passage that a hit shows: where it is cut and what is marked, in characters, in any script.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { Language } from '../../../src/api/choices.js';
import { highlightOf } from '../../../src/text/highlight.js';
import { chunkTerms, questionTerms } from '../../../src/text/terms.js';

/** The highlight, after asserting that it is a passage of the text with matches inside it, in order. */
function highlight(
  text: string,
  q: string,
  language: Language = 'none',
): { text: string; offset: number; found: string[] } {
  const found = highlightOf(text, { terms: questionTerms(q, 100, language), language });
  const characters = [...found.text];
  assert.ok(characters.length <= 240, `${characters.length} characters`);
  assert.equal(
    [...text].slice(found.offset, found.offset + characters.length).join(''),
    found.text,
    'as it stands in the text',
  );
  let before = 0;
  for (const [start, end] of found.matches) {
    assert.ok(before <= start && start < end && end <= characters.length, JSON.stringify(found));
    before = end;
  }
  return {
    text: found.text,
    offset: found.offset,
    found: found.matches.map(([start, end]) => characters.slice(start, end).join('')),
  };
}

const written: [string, string, string, string[]][] = [
  ['a short text is shown whole', 'Captain Nemo commands the Nautilus.', 'nemo captain', ['Captain', 'Nemo']],
  ['without white space at its ends', '  \n whale \t', 'whale', ['whale']],
  ['a word inside another is none', 'whales whale', 'whale', ['whale']],
  ['diacritics and case', 'Das CAFÉ in der Straße', 'cafe strasse', ['CAFÉ', 'Straße']],
  ['marks of their own', 'un cafe\u0301 noir', 'café', ['cafe\u0301']],
  ['ligatures and signs', 'the ﬁnal ㎏ of ™', 'final kg tm', ['ﬁnal', '㎏', '™']],
  ['characters beyond 16 bits count as one', '😀😀 𝐰𝐡𝐚𝐥𝐞 😀', 'whale', ['𝐰𝐡𝐚𝐥𝐞']],
  ['Han, by pairs', '東京都の鯨', '東京', ['東京']],
  ['and never half a pair', '京都の東', '東京', []],
  ['half-width kana with a voicing mark', 'ｶﾞｷﾞ', 'ガギ', ['ｶﾞｷﾞ']],
  ['identifiers, and their words', 'call snake_case() now', 'snake_case', ['snake', 'case']],
  ['no word of the query', 'bread and butter', 'whale', []],
  ['nothing but signs', '?! — …', 'whale', []],
  ['an empty text', '', 'whale', []],
];
for (const [name, text, q, expected] of written) {
  test(name, () => {
    const shown = highlight(text, q);
    assert.deepEqual(shown.found, expected);
    assert.equal(shown.text, text.trim());
  });
}

test('by stems, where the collection has a language; stop words are not marked unless nothing else was asked for', () => {
  const text = 'The whales were sailing; a whale sails the seas.';
  assert.deepEqual(highlight(text, 'the sailing of whales', 'english').found, ['whales', 'sailing', 'whale', 'sails']);
  assert.deepEqual(highlight(text, 'were the', 'english').found, ['The', 'were', 'the']);
});

const FILL = 'lorem ipsum dolor sit amet '.repeat(40);

test('of a long text the passage with the most distinct words, words whole, its middle where they are', () => {
  const text = `${FILL}whale whale whale ${FILL}the captain of a whale boat. ${FILL}`;
  const { found, text: passage, offset } = highlight(text, 'captain whale');
  assert.deepEqual(found, ['captain', 'whale']);
  assert.ok(
    offset > 1000 && /^(lorem|ipsum|dolor|sit|amet|the)\b.*\b(lorem|ipsum|dolor|sit|amet)$/.test(passage),
    passage,
  );
  assert.ok(
    passage.length > 220 && Math.abs(passage.indexOf('captain') - (passage.length - passage.indexOf('boat'))) < 40,
    passage,
  );
});

test('a rare word weighs more than several common ones, where weights are known', () => {
  const text = `the sea and the boat ${FILL}narwhal ${FILL}`;
  const matches = (weights?: number[]): string =>
    highlightOf(text, { terms: ['sea', 'boat', 'narwhal'], language: 'none', ...(weights && { weights }) }).text;
  assert.match(matches(), /sea and the boat/);
  assert.match(matches([1, 1, 5]), /narwhal/);
});

test('signs at the end of the last word are shown with it', () => {
  const text = `${'a'.repeat(230)} whale. ${FILL}`;
  assert.ok(highlight(text, 'aaa').text.endsWith('whale.'));
});

test('a word that is longer than a passage is cut', () => {
  const text = `${FILL}${'x'.repeat(1000)} ${FILL}`;
  assert.deepEqual(highlight(text, 'x'.repeat(1000)).found, ['x'.repeat(240)]);
});

test('random texts: the passage stands there, and what is marked is what was asked for', () => {
  const seed = 20_261_122;
  const prng = createPrng(seed);
  const pieces = [
    'whale',
    'Wal',
    'é',
    'e\u0301',
    '鯨',
    '東京',
    'ガ',
    'ｶﾞ',
    '😀',
    '👩‍👧',
    ' ',
    ' ',
    '\n',
    '.',
    'ß',
    'ﬁ',
    '\u200d',
    'สวัสดี',
    'مرحبا',
    '_',
    '-',
    'x1',
    '🏴‍☠️',
    '𝐰',
  ];
  for (let i = 0; i < 400; i++) {
    const text = Array.from({ length: prng.int(300) }, () => pieces[prng.int(pieces.length)]).join('');
    const q = `${pieces[prng.int(pieces.length)]} ${pieces[prng.int(pieces.length)]}`;
    const terms = new Set(questionTerms(q, 100, 'none'));
    for (const found of highlight(text, q).found)
      assert.ok(
        chunkTerms(found, 'none').some((term) => terms.has(term)),
        `seed ${seed}, text ${i}: ${found}`,
      );
  }
});

test('the largest chunk takes no more than its length', () => {
  const text = 'whale captain '.repeat(2340);
  assert.equal(highlight(text, 'whale captain').found.length, 34);
});
