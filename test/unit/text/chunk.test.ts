// Windows of characters: named cases, then seeded random texts, compared with a naive version over an array of code
// points.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import type { Chunking } from '../../../src/api/collections.js';
import { chunkText, type TextChunk, wholeText } from '../../../src/text/chunking.js';

const fixed = (size: number, overlap: number): Chunking => ({ strategy: 'fixed', size, overlap });

test('a text shorter than a window is one chunk', () => {
  assert.deepEqual(chunkText('short', fixed(16, 4)), [{ text: 'short', offset: 0 }]);
});

test('windows overlap by the given number of characters', () => {
  const chunks = chunkText('0123456789abcdefghijklmnopqrst', fixed(16, 4));
  assert.deepEqual(chunks, [
    { text: '0123456789abcdef', offset: 0 },
    { text: 'cdefghijklmnopqr', offset: 12 },
    { text: 'opqrst', offset: 24 },
  ]);
});

test('a last window wholly inside the one before is not made', () => {
  assert.equal(chunkText('x'.repeat(16), fixed(16, 4)).length, 1);
  assert.equal(chunkText('x'.repeat(17), fixed(16, 4)).length, 2);
  assert.equal(chunkText('x'.repeat(28), fixed(16, 4)).length, 2);
  assert.equal(chunkText('x'.repeat(29), fixed(16, 4)).length, 3);
});

test('windows of white space alone make no chunk, and the offsets of the others stay', () => {
  assert.deepEqual(chunkText(`${'a'.repeat(16)}${' \n\t\u00a0'.repeat(8)}${'b'.repeat(16)}`, fixed(16, 0)), [
    { text: 'a'.repeat(16), offset: 0 },
    { text: 'b'.repeat(16), offset: 48 },
  ]);
  assert.deepEqual(chunkText('', fixed(16, 4)), []);
  assert.deepEqual(chunkText(' \r\n ', fixed(16, 4)), []);
});

test('offsets and sizes count code points, and no pair is split', () => {
  const chunks = chunkText('😀'.repeat(20), fixed(16, 4));
  assert.deepEqual(chunks, [
    { text: '😀'.repeat(16), offset: 0 },
    { text: '😀'.repeat(8), offset: 12 },
  ]);
});

test('a lone surrogate counts as one character', () => {
  const text = `\udc00${'é'.repeat(14)}\ud800\ud83d\ude00x`;
  assert.deepEqual(chunkText(text, fixed(16, 0)), [
    { text: text.slice(0, 16), offset: 0 },
    { text: '😀x', offset: 16 },
  ]);
});

test('strategy none is one chunk, or none for white space', () => {
  const text = 'word '.repeat(10_000);
  assert.deepEqual(chunkText(text, { strategy: 'none' }), [{ text, offset: 0 }]);
  assert.deepEqual(chunkText(' \n', { strategy: 'none' }), []);
});

test('the strategy fixed without its bounds is an internal error', () => {
  assert.throws(() => chunkText('text', { strategy: 'fixed' }), { name: 'AssertionFailed' });
  assert.throws(() => chunkText('text', fixed(16, 16)), { name: 'AssertionFailed' });
});

test('agrees with the naive version on random texts', () => {
  for (let seed = 1; seed <= 400; seed++) {
    const prng = createPrng(seed);
    const size = 16 + prng.int(40);
    const overlap = prng.int(Math.floor(size / 4) + 1);
    const text = randomText(prng, prng.int(400));
    assert.deepEqual(chunkText(text, fixed(size, overlap)), naiveChunks(text, size, overlap), `seed ${seed}`);
  }
});

test('chunks without their overlaps put the text together again', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const prng = createPrng(seed);
    const text = `x${randomText(prng, 300).replace(/\s/g, 'y')}`;
    let joined = '';
    for (const chunk of chunkText(text, fixed(20, 5))) {
      assert.equal(
        Array.from(joined).slice(chunk.offset).join(''),
        chunk.offset === 0 ? '' : Array.from(chunk.text).slice(0, 5).join(''),
        `seed ${seed}`,
      );
      joined = Array.from(joined).slice(0, chunk.offset).join('') + chunk.text;
    }
    assert.equal(joined, text, `seed ${seed}`);
  }
});

function naiveChunks(text: string, size: number, overlap: number): TextChunk[] {
  const characters = Array.from(text);
  const chunks: TextChunk[] = [];
  for (let offset = 0; offset === 0 || offset + overlap < characters.length; offset += size - overlap) {
    const window = characters.slice(offset, offset + size).join('');
    if (window.trim() !== '') chunks.push({ text: window, offset });
  }
  return chunks;
}

/**
 * A random text. Half of them are ASCII, which takes the fast path; the others mix surrogate pairs, lone surrogates and
 * runs of white space.
 */
function randomText(prng: Prng, length: number): string {
  const ascii = prng.int(2) === 0;
  const alphabet = ascii
    ? ['a', 'b', ' ', '\n', ' '.repeat(30)]
    : ['a', 'é', '中', '😀', '\ud800', '\udc00', ' ', '\u00a0', '\ufeff', ' '.repeat(30)];
  return Array.from({ length }, () => alphabet[prng.int(alphabet.length)]).join('');
}

test('a text that is put together from its chunks is cut into the same chunks', () => {
  const prng = createPrng(7);
  const pieces = ['whale ', '😀', ' '.repeat(40), '\n', 'é', 'x'.repeat(20), '\u00a0'];
  for (let i = 0; i < 2000; i++) {
    const text = Array.from({ length: prng.int(30) }, () => pieces[prng.int(pieces.length)]).join('');
    const size = 16 + prng.int(30);
    const chunking = prng.int(10) === 0 ? ({ strategy: 'none' } as const) : fixed(size, prng.int(size / 4));
    const chunks = chunkText(text, chunking);
    const stored = chunks.map(({ text, offset }, n) => ({
      path: `chunk_${n}`,
      metaJson: JSON.stringify({ offset }),
      text,
    }));
    const whole = wholeText(stored);
    assert.deepEqual(chunkText(whole, chunking), chunks, JSON.stringify({ i, text, chunking }));
    // White space that is in no chunk is not the same.
    const blank = (of: string): string => of.replace(/\s/gu, ' ');
    if (chunks.length > 0)
      assert.equal(blank(Array.from(text).slice(0, Array.from(whole).length).join('')), blank(whole));
  }
});

test('pages are put one after the other', () => {
  const chunk = (path: string, offset: number, text: string) => ({ path, metaJson: JSON.stringify({ offset }), text });
  const chunks = [chunk('page_1.0', 0, 'one two'), chunk('page_1.1', 4, 'two three'), chunk('page_2', 0, 'four')];
  assert.equal(wholeText(chunks), 'one two three\n\nfour');
});
