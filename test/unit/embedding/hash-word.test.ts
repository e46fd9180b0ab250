// Slots of words, compared with CRC-32 values computed by zlib.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashWord } from '../../../src/embedding/builtin/terms.js';

/** CRC-32 values that Python's zlib.crc32 gives for these words in UTF-8. */
const CRCS = {
  '#^ab$': 0x494c96bb,
  '#^abc': 0xa1f44288,
  '#abc$': 0xfa59f154,
  '#^é数𐐨': 0x08493eb5,
  '#é数𐐨$': 0x1f49641e,
  abcd: 0xed82cd11,
  '#abcd': 0x8c85b0c4,
} as const;

/** The slot of a CRC-32: its nine lowest bits. */
const slotOf = (crc: number): number => crc % 512;

test('the check value of CRC-32 gives the slot of its word', () => {
  assert.equal(hashWord('123456789').word, slotOf(0xcbf43926));
});

test('4-grams run over the word between its marks', () => {
  assert.deepEqual(hashWord('ab').grams, [slotOf(CRCS['#^ab$'])]);
  assert.deepEqual(hashWord('abc').grams, [slotOf(CRCS['#^abc']), slotOf(CRCS['#abc$'])]);
});

test('a word of one character has no 4-gram', () => {
  assert.deepEqual(hashWord('a').grams, []);
});

test('a 4-gram is four characters, of however many bytes', () => {
  assert.deepEqual(hashWord('é数𐐨').grams, [slotOf(CRCS['#^é数𐐨']), slotOf(CRCS['#é数𐐨$'])]);
});

test('a 4-gram does not hash as the word of the same letters', () => {
  const { word, grams } = hashWord('abcd');
  assert.equal(grams.length, 3);
  assert.equal(word, slotOf(CRCS.abcd));
  assert.equal(grams[1], slotOf(CRCS['#abcd']));
});
