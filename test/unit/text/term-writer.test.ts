// The writer of terms, compared with its naive version, chunkTerms: the same terms with the stemming of every language.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import type { Language } from '../../../src/api/choices.js';
import { CHUNK_TERMS_MAX, chunkTerms } from '../../../src/text/terms.js';
import { TermWriter } from '../../../src/text/term-writer.js';

const PIECES = [
  'running',
  'Runners',
  'the',
  "isn't",
  'distributions',
  'x86_64',
  'v1.2.3',
  'a--b',
  'foo-bar',
  '_x_',
  '3.14',
  'Größen_Wert',
  'Ångström-1',
  'straße',
  'ＡＢＣ－１２',
  'мир_труд',
  'бегущие',
  '서울-시',
  'ﬁne',
  'ø',
  'ſ',
  '\u0000',
  '\u0301',
  'e\u0301',
  '²',
  '👍',
  '🅐',
  '🯰',
  '\ud800',
  '\udc00',
  '𝒜',
  '𐐀',
  '東京',
  'タワー',
  'ー',
  'İ',
  '٣٤',
  'x'.repeat(70),
  `${'é'.repeat(40)}s`,
];
const BETWEEN = [' ', ' ', ' ', '', '-', '.', '_', '--', ',\n', '\u00a0'];
const FITTING = PIECES.filter((piece) => new TermWriter('none').write(piece));

function randomText(prng: Prng): string {
  const pieces = prng.int(3) === 0 ? PIECES : FITTING;
  return Array.from(
    { length: prng.int(30) },
    () => (pieces[prng.int(pieces.length)] as string) + (BETWEEN[prng.int(BETWEEN.length)] as string),
  ).join('');
}

/** The terms that the writer wrote; undefined where it leaves a text to chunkTerms. */
function writtenBy(writer: TermWriter, text: string): string[] | undefined {
  const written = writer.write(text);
  if (!written) return undefined;
  const terms = Buffer.from(written.bytes).toString().split('\0');
  assert.equal(terms.pop(), '');
  assert.equal(terms.length, written.count);
  return terms;
}

for (const language of ['none', 'english', 'german', 'russian'] satisfies Language[]) {
  test(`random texts, ${language}`, () => {
    for (const seed of [1, 2, 3]) {
      const [prng, writer] = [createPrng(seed), new TermWriter(language)];
      let count = 0;
      for (let i = 0; i < 1500; i++) {
        const text = randomText(prng);
        const terms = writtenBy(writer, text);
        if (terms) assert.deepEqual(terms, chunkTerms(text, language), `seed ${seed}: ${JSON.stringify(text)}`);
        if (terms) count++;
      }
      assert.ok(count > 700, `${count} texts were written`);
    }
  });
}

test('emoji are written, other characters beyond the basic plane and unspaced scripts are not', () => {
  const writer = new TermWriter('english');
  assert.deepEqual(writtenBy(writer, 'Thumbs up 👍 now'), chunkTerms('Thumbs up 👍 now', 'english'));
  for (const text of ['in 東京', 'タワー', 'ー', '𐐀']) assert.equal(writer.write(text), undefined, text);
});

test('a vocabulary that outgrows its memory is forgotten, and the terms stay right', () => {
  const [prng, writer] = [createPrng(4), new TermWriter('english')];
  for (let i = 0; i < 400; i++) {
    const text = Array.from({ length: 400 }, () => `${prng.next().toString(36).slice(2).replace(/\d/g, 'q')}ing`).join(
      ' ',
    );
    assert.deepEqual(writtenBy(writer, text), chunkTerms(text, 'english'));
  }
});

test('a text of more terms than a chunk may have is left to chunkTerms', () => {
  const writer = new TermWriter('none');
  assert.equal(writer.write('a '.repeat(CHUNK_TERMS_MAX))?.count, CHUNK_TERMS_MAX);
  assert.equal(writer.write('a '.repeat(CHUNK_TERMS_MAX + 1)), undefined);
});
