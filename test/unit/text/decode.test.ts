// Decoding bytes to text: each encoding by name, every byte of windows-1252, and seeded random bytes of which no
// character may be lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { decodeText } from '../../../src/text/decode.js';

const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

test('UTF-8, with and without a byte order mark', () => {
  assert.equal(decodeText(Buffer.from('naïve 中 😀')), 'naïve 中 😀');
  assert.equal(decodeText(Buffer.from('\ufeffnaïve')), 'naïve');
  assert.equal(decodeText(new Uint8Array(0)), '');
});

test('only the first byte order mark is dropped', () => {
  assert.equal(decodeText(Buffer.from('\ufeff\ufeffa\ufeffb')), '\ufeffa\ufeffb');
});

test('UTF-16 by its byte order mark', () => {
  assert.equal(decodeText(Buffer.from('\ufeffnaïve 😀', 'utf16le')), 'naïve 😀');
  assert.equal(decodeText(utf16be('\ufeffnaïve 😀')), 'naïve 😀');
  assert.equal(decodeText(Buffer.of(0xff, 0xfe)), '');
});

test('what UTF-16 cannot mean becomes U+FFFD', () => {
  assert.equal(decodeText(Buffer.from('\ufeffa\ud800b', 'utf16le')), 'a\ufffdb');
  assert.equal(decodeText(utf16be('\ufeffa\udc00b')), 'a\ufffdb');
  assert.equal(decodeText(Buffer.concat([Buffer.from('\ufeffa', 'utf16le'), Buffer.of(0x62)])), 'a\ufffd');
});

test('what is not valid UTF-8 is windows-1252, byte for character', () => {
  assert.equal(decodeText(Buffer.of(0x93, 0x63, 0x61, 0x66, 0xe9, 0x94, 0x20, 0x80)), '“café” €');
  assert.equal(decodeText(Buffer.of(0xef, 0xbb, 0xbf, 0x61, 0xe9)), 'aé', 'a byte order mark is dropped here too');
  assert.equal(decodeText(Buffer.of(0xed, 0xa0, 0x80)), 'í\u00a0€', 'a surrogate in UTF-8 is not valid');
});

test('every byte is the character the WHATWG table names', () => {
  const high =
    '20ac 81 201a 192 201e 2026 2020 2021 2c6 2030 160 2039 152 8d 17d 8f 90 2018 2019 201c 201d 2022 2013 2014 2dc 2122 161 203a 153 9d 17e 178';
  const expected = Array.from({ length: 256 }, (_, byte) => byte);
  high.split(' ').forEach((code, i) => (expected[0x80 + i] = parseInt(code, 16)));
  const decoded = decodeText(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  assert.deepEqual(
    [...decoded].map((character) => character.codePointAt(0)),
    expected,
  );
});

test('NUL and other control characters stay', () => {
  assert.equal(decodeText(Buffer.from('a\0b\x1bc')), 'a\0b\x1bc');
});

test('a view into a larger buffer is read within its bounds', () => {
  const bytes = Buffer.from('xxcaf\xe9yy', 'latin1').subarray(2, 6);
  assert.equal(decodeText(bytes), 'café');
});

test('random bytes without a byte order mark keep one character a byte unless they are UTF-8', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const prng = createPrng(seed);
    const bytes = Uint8Array.from({ length: 1 + prng.int(200) }, () => 0x20 + prng.int(0xd0));
    const asUtf8 = Buffer.from(bytes).toString();
    const expected = asUtf8.includes('\ufffd') ? bytes.length : asUtf8.length;
    assert.equal(decodeText(bytes).length, expected, `seed ${seed}`);
  }
});

test('random text comes back from each encoding that can carry it', () => {
  const alphabet = ['a', 'é', '中', '😀', '\n', '\0'];
  for (let seed = 1; seed <= 200; seed++) {
    const prng = createPrng(seed);
    const text = Array.from({ length: prng.int(100) }, () => alphabet[prng.int(alphabet.length)]).join('');
    assert.equal(decodeText(Buffer.from(text)), text, `seed ${seed}, UTF-8`);
    assert.equal(decodeText(Buffer.from(`\ufeff${text}`, 'utf16le')), text, `seed ${seed}, UTF-16 LE`);
    assert.equal(decodeText(utf16be(`\ufeff${text}`)), text, `seed ${seed}, UTF-16 BE`);
  }
});
