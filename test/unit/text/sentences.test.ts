// Chunks of whole sentences and paragraphs: named cases, then properties of chunks of random texts in many scripts:
// every character is covered, no chunk is above its limit, no word is cut, offsets are right.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import type { Chunking } from '../../../src/api/collections.js';
import { chunkText } from '../../../src/text/chunking.js';
import { sentencesOf } from '../../../src/text/sentences.js';

const sentence = (size: number, overlap = 0): Chunking => ({ strategy: 'sentence', size, overlap });
const paragraph = (size: number, overlap = 0): Chunking => ({ strategy: 'paragraph', size, overlap });

const textsOf = (text: string, chunking: Chunking, sections?: readonly number[]): string[] =>
  chunkText(text, chunking, sections).map((chunk) => chunk.text);

const sentencesIn = (text: string): string[] =>
  [...sentencesOf(text, [])].map(({ start, end }) => text.slice(start, end));

test('sentences of many scripts', () => {
  const cases: readonly (readonly string[])[] = [
    ['Is it so?', '“Yes!”', 'It costs 3.14 dollars, e.g. in the U.S. today.', 'Good.'],
    ['Dr. Smith met J. R. R. Tolkien.', 'They talked.'],
    ['2. The second item.', 'It has two sentences.'],
    ['Τι κάνεις;', 'Καλά είμαι.', 'Εσύ;'],
    ['Как дела?', 'Хорошо.'],
    ['هل هذا سؤال؟', 'نعم.'],
    ['यह एक वाक्य है।', 'यह दूसरा है।'],
    ['Սա նախադասություն է։', 'Սա՝ երկրորդը։'],
    ['これはテストです。', '「そうですか？」', 'と言った。'],
    ['今天天气很好。', '我们去公园吧！'],
  ];
  for (const parts of cases) {
    const joint = /[。！？」]$/.test(parts[0]!) ? '' : ' ';
    assert.deepEqual(sentencesIn(parts.join(joint)), parts);
  }
});

test('a line break ends a sentence unless the line is broken in the middle of one', () => {
  assert.deepEqual(sentencesIn('- one\n- two\nTitle\nText'), ['- one', '- two', 'Title', 'Text']);
  assert.deepEqual(sentencesIn('a sentence that is broken\r\nbefore a small letter. Another\none.'), [
    'a sentence that is broken\r\nbefore a small letter.',
    'Another\none.',
  ]);
  const long = `${'word '.repeat(14)}by the\nSmith Company. Done.`;
  assert.deepEqual(sentencesIn(long), [long.slice(0, -6), 'Done.']);
});

test('a chunk has as many whole sentences as fit', () => {
  assert.deepEqual(chunkText('One two three. Four five six. Seven.', sentence(30)), [
    { text: 'One two three. Four five six.', offset: 0 },
    { text: 'Seven.', offset: 30 },
  ]);
});

test('the overlap is whole sentences that leave room for the next one', () => {
  const text = 'Aaaa bbbb cccc dddd eeee. Bb. Cc. Dddd eeee ffff gggg hhhh. Eeee.';
  assert.deepEqual(textsOf(text, sentence(36, 9)), [
    'Aaaa bbbb cccc dddd eeee. Bb. Cc.',
    'Bb. Cc. Dddd eeee ffff gggg hhhh.',
    'Eeee.',
  ]);
  assert.deepEqual(textsOf(text, sentence(32, 8)), [
    'Aaaa bbbb cccc dddd eeee. Bb.',
    'Bb. Cc.',
    'Cc. Dddd eeee ffff gggg hhhh.',
    'Eeee.',
  ]);
});

test('paragraphs stay whole where they fit, and are cut by sentences where they do not', () => {
  const text =
    'First paragraph. It is short.\n\nSecond one.\n \nThird paragraph here. It is long. It goes on.\n\nFourth.';
  assert.deepEqual(textsOf(text, paragraph(42)), [
    'First paragraph. It is short.\n\nSecond one.',
    'Third paragraph here. It is long.',
    'It goes on.\n\nFourth.',
  ]);
  assert.deepEqual(textsOf('A b c d e fgh. H ij.\n\nK l m n o p qrst.', paragraph(24, 6)), [
    'A b c d e fgh. H ij.',
    'H ij.\n\nK l m n o p qrst.',
  ]);
});

test('a section begins a chunk, without an overlap; headings stay with what follows them', () => {
  const text = '# One\n\n## One of one\n\nText. More.\n\n# Two\n\nOther text.';
  const sections = ['# One', '## One', '# Two'].map((heading) => text.indexOf(heading));
  for (const chunking of [sentence(100, 25), paragraph(100, 25)]) {
    assert.deepEqual(textsOf(text, chunking, sections), [
      '# One\n\n## One of one\n\nText. More.',
      '# Two\n\nOther text.',
    ]);
  }
  assert.deepEqual(textsOf(text, paragraph(28), sections), [
    '# One\n\n## One of one\n\nText.',
    'More.',
    '# Two\n\nOther text.',
  ]);
});

test('a long sentence is cut at white space, or else between words, or else between characters', () => {
  assert.deepEqual(textsOf('aaaa bbbb cccc dddd eeee', sentence(16)), ['aaaa bbbb cccc', 'dddd eeee']);
  assert.deepEqual(textsOf('我们今天在公园里散步然后回家吃饭看电视', sentence(16)), [
    '我们今天在公园里散步然后回家吃饭',
    '看电视',
  ]);
  assert.deepEqual(textsOf('ภาษาไทยเป็นภาษาที่ไม่มีช่องว่าง', sentence(20)), ['ภาษาไทยเป็นภาษาที่', 'ไม่มีช่องว่าง']);
  const family = '👨‍👩‍👧‍👦';
  assert.deepEqual(textsOf(family.repeat(5), sentence(16)), [family.repeat(2), family.repeat(2), family]);
  const word = 'x'.repeat(100_000);
  const cut = textsOf(word, sentence(1000, 200));
  assert.equal(cut.join(''), word);
  assert.ok(cut.every((text) => text.length <= 1000));
  assert.equal(cut.length, 100);
});

test('white space alone makes no chunk', () => {
  for (const chunking of [sentence(16, 4), paragraph(16, 4)]) {
    for (const text of ['', ' ', '\n\n\n', `${' '.repeat(5000)}\n`]) assert.deepEqual(chunkText(text, chunking), []);
    assert.deepEqual(chunkText(`\n\n${' '.repeat(5000)}word \n`, chunking), [{ text: 'word', offset: 5002 }]);
  }
});

test('a lone surrogate is a character', () => {
  const text = `\udc00 ${'é'.repeat(14)}\ud800 \ud83d\ude00x`;
  assert.deepEqual(chunkText(text, sentence(16)), [
    { text: text.slice(0, 16), offset: 0 },
    { text: text.slice(16), offset: 16 },
  ]);
});

test('properties of chunks of random texts', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const prng = createPrng(seed);
    const text = randomText(prng);
    const size = 16 + prng.int(prng.int(2) === 0 ? 60 : 600);
    const overlap = prng.int(Math.floor(size / 4) + 1);
    const sections = [
      ...new Set(Array.from({ length: prng.int(4) }, () => wordStart(text, prng.int(text.length + 1)))),
    ].sort((a, b) => a - b);
    for (const strategy of ['sentence', 'paragraph'] as const)
      assertProperties(text, { strategy, size, overlap }, sections, `seed ${seed}, ${strategy}`);
  }
});

/** The start of the word that has the position, since a heading begins with a word. */
function wordStart(text: string, at: number): number {
  while (at > 0 && !/\s/.test(text[at - 1]!)) at--;
  return at;
}

const ANY_LETTER = /[\p{L}\p{N}\p{M}]/u;
/** Scripts whose words are not separated: ICU's dictionaries decide what a word is. */
const UNSEPARATED =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}|\p{Script=Khmer}|\p{Script=Lao}|\p{Script=Myanmar}/u;
const HANGUL = /\p{Script=Hangul}/u;

function assertProperties(text: string, chunking: Chunking, sections: readonly number[], seed: string): void {
  const size = chunking.size!;
  const characters = Array.from(text);
  const chunks = chunkText(text, chunking, sections);
  let [covered, end] = [0, 0];
  for (const [i, chunk] of chunks.entries()) {
    const own = Array.from(chunk.text);
    assert.equal(characters.slice(chunk.offset, chunk.offset + own.length).join(''), chunk.text, `${seed}: offset`);
    assert.ok(own.length <= size, `${seed}: ${own.length} characters, at most ${size}`);
    assert.equal(chunk.text.trim(), chunk.text, `${seed}: white space at an end`);
    assert.ok(i === 0 || chunk.offset > chunks[i - 1]!.offset, `${seed}: order`);
    assert.ok(chunk.offset + own.length > end, `${seed}: a chunk inside the one before`);
    assert.ok(end - chunk.offset <= chunking.overlap!, `${seed}: overlap`);
    if (chunk.offset > covered)
      assert.match(characters.slice(covered, chunk.offset).join(''), /^\s*$/, `${seed}: lost text`);
    [covered, end] = [chunk.offset + own.length, chunk.offset + own.length];
    for (const at of [chunk.offset, end]) assertNoWordCut(characters, at, size, seed);
  }
  assert.equal(characters.slice(covered).join('').trim(), '', `${seed}: lost text at the end`);
  assert.deepEqual(chunkText(text, chunking, sections), chunks, `${seed}: not the same again`);
}

function assertNoWordCut(characters: readonly string[], at: number, size: number, seed: string): void {
  const isIn = (i: number): boolean => ANY_LETTER.test(characters[i] ?? '');
  const [before, after] = [characters[at - 1] ?? '', characters[at] ?? ''];
  if (!isIn(at - 1) || !isIn(at) || UNSEPARATED.test(before) || UNSEPARATED.test(after)) return;
  // Between Hangul and other letters ICU sees a boundary.
  if (HANGUL.test(before) !== HANGUL.test(after)) return;
  let [from, to] = [at, at];
  while (isIn(from - 1)) from--;
  while (isIn(to)) to++;
  assert.ok(to - from > size, `${seed}, size ${size}: ${characters.slice(from, to).join('')} is cut at ${at - from}`);
}

const WORDS: readonly string[] = [
  ...['the', 'boundary', 'Layer', 'U.S.', '3.14', 'e.g.', "don't", 'Mr.', 'naïve', 'Größe', 'STRASSE', 'co-operation'],
  ...['слово', 'Привет', 'λόγος', 'Τι', 'שלום', 'مرحبا', 'كتاب', 'नमस्ते', 'हिन्दी', 'தமிழ்', '한국어', 'Հայերեն'],
  ...['今天天气', '公园', 'これはテスト', 'カタカナ', 'ภาษาไทย', 'ช่องว่าง', 'ភាសាខ្មែរ', 'မြန်မာ'],
  ...[
    '😀',
    '👨‍👩‍👧‍👦',
    '🇩🇪🇫🇷',
    'é',
    '𝒳𝒴',
    '\u200b',
    '\ufeff',
    '(',
    '«',
    '»',
    '“',
    '…',
    '--',
    '#',
    'http://a.bc/d?e=f&g',
  ],
];
const MARKS = ['.', '!', '?', ';', ',', '。', '！', '？', '।', '؟', '։', ':', '.”', ')'];
const GAPS = [' ', ' ', ' ', '  ', '\n', '\r\n', '\n\n', '\r\n\r\n', '\t', '\u00a0', '\u3000', '\u2029', ''];

function randomText(prng: Prng): string {
  const pick = <T>(items: readonly T[]): T => items[prng.int(items.length)]!;
  const words = prng.int(2) === 0 ? WORDS : Array.from({ length: 3 }, () => pick(WORDS));
  const gaps = prng.int(4) === 0 ? [''] : GAPS.slice(prng.int(6), 7 + prng.int(GAPS.length - 6));
  let text = '';
  for (let left = prng.int(400); left > 0; left--) {
    text += prng.int(60) === 0 ? pick(['x', 'ж', '漢']).repeat(1 + prng.int(700)) : pick(words);
    if (prng.int(5) === 0) text += pick(MARKS);
    text += pick(gaps);
  }
  return text;
}
