// WordPiece on a small vocabulary, which shows each rule.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPieceEncoder } from '../../../src/embedding/builtin/word-pieces.js';

const vocabulary = [
  '[PAD]',
  '[UNK]',
  'un',
  '##aff',
  '##able',
  'a',
  '##a',
  'é',
  ',',
  '𐐨',
  '##𐐨',
  '##b',
  'unb',
  '[',
  ']',
  'pad',
];
const encode = createPieceEncoder(vocabulary);
const piecesOf = (text: string): string[] => encode(text).map((id) => vocabulary[id]!);

test('takes the longest entry at each place', () => {
  assert.deepEqual(piecesOf('unaffable, a'), ['un', '##aff', '##able', ',', 'a']);
  assert.deepEqual(piecesOf('unb'), ['unb']);
});

test('a word that cannot be covered to its end is unknown as a whole', () => {
  assert.deepEqual(piecesOf('unaffx a'), ['[UNK]', 'a']);
  assert.deepEqual(piecesOf('x'), ['[UNK]']);
});

test('does not take an entry beyond what is left, nor a beginning for a continuation', () => {
  assert.deepEqual(piecesOf('una un'), ['un', '##a', 'un']);
  assert.deepEqual(piecesOf('aun'), ['[UNK]']);
});

test('a marker spelled out is ordinary text', () => {
  assert.deepEqual(piecesOf('[PAD]'), ['[', 'pad', ']']);
});

test('a word of 100 characters is covered, one of 101 is unknown, in characters and not UTF-16 units', () => {
  assert.equal(piecesOf('a'.repeat(100)).length, 100);
  assert.deepEqual(piecesOf('a'.repeat(101)), ['[UNK]']);
  assert.equal(piecesOf('𐐨'.repeat(100)).length, 100);
  assert.deepEqual(piecesOf('𐐨'.repeat(101)), ['[UNK]']);
});

test('a text without words has no pieces', () => {
  assert.deepEqual(piecesOf(' \n\u200b'), []);
});
