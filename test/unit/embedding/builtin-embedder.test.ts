// The built-in embedder on its real table: against pinned values of the published reference, against its naive version,
// and in its promises (vectors of length 1, the same bits in any batch, any length of text).
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { dot } from '../../../load/kit/cosine.js';
import { createPrng } from '../../../src/base/prng.js';
import { BuiltinEmbedder } from '../../../src/embedding/builtin/embedder.js';
import { openEmbedderTable } from '../../../src/embedding/builtin/table.js';
import { BUILTIN_DIM } from '../../../src/embedding/spaces.js';
import { createNaiveEmbedder } from '../../kit/embedding/builtin.js';

const REFERENCE = '../shared/data/builtin-embedder';
const embedder = new BuiltinEmbedder();
const embedOne = (text: string): Float32Array => embedder.vectorsOf([text]);

/** Values that reference.py gives: the first four components, and the sum over all of component x (index mod 7 - 3). */
const PINNED: readonly (readonly [string, readonly number[], number])[] = [
  ['submarine captain', [-0.30773, -0.010942, 0.000808, 0.022966], -1.098815],
  ['Captain Nemo commands the Nautilus', [-0.202591, -0.026077, -0.119065, -0.05913], 0.653194],
  ['Überraschung naïve café', [-0.587175, -0.012415, 0.019666, 0.063786], 2.120025],
  ['数据库 検索 검색', [-0.314797, -0.037464, -0.008121, 0.107665], -0.472045],
  ['snake_case v1.2.3 isAdmin()', [-0.250794, -0.004316, -0.006164, -0.011024], 0.822755],
  ['İstanbul ΟΔΥΣΣΕΥΣ 👩🏽\u200d💻', [-0.600124, 0.056162, -0.090187, 0.085467], 1.380236],
  ['a\u0301 b\0c\x0bd e\u00a0f\u2028g\u00ad', [0.031271, 0.165182, 0.049653, -0.018384], 1.541236],
  ['the the the cat', [-0.027646, -0.04619, -0.048479, 0.094232], -1.332482],
  ['¿', [-0.502613, -0.174134, -0.019788, 0.055406], 0.649043],
];

for (const [text, first, sum] of PINNED) {
  test(`agrees with the reference on ${JSON.stringify(text)}`, () => {
    const row = embedOne(text);
    first.forEach((value, i) => assert.ok(Math.abs(row[i]! - value) < 2e-6, `component ${i}: ${row[i]}, not ${value}`));
    const weights = Array.from(row, (_, i) => (i % 7) - 3);
    assert.ok(Math.abs(dot(row, weights) - sum) < 5e-5, `sum ${dot(row, weights)}, not ${sum}`);
  });
}

test('agrees with all reference vectors', { skip: !existsSync(REFERENCE) && `${REFERENCE} is absent` }, () => {
  const texts = JSON.parse(readFileSync(`${REFERENCE}/reference-texts.json`, 'utf8')) as string[];
  const npy = readFileSync(`${REFERENCE}/reference-vectors.npy`);
  const expected = new Float32Array(new Uint8Array(npy.subarray(10 + npy.readUInt16LE(8))).buffer);
  const actual = embedder.vectorsOf(texts);
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => {
    const text = JSON.stringify(texts[Math.floor(i / BUILTIN_DIM)]);
    assert.ok(
      Math.abs(value - expected[i]!) < 1e-6,
      `${text}, component ${i % BUILTIN_DIM}: ${value}, not ${expected[i]}`,
    );
  });
});

test('agrees with its naive version on random text', () => {
  const naive = createNaiveEmbedder(openEmbedderTable(readFileSync('src/embedding/builtin/embedder.bin')));
  const words = ['wing', 'Wing', 'supersonic', 'q7z', 'x²', 'naïve', '数据', 'カナ', 'ΟΔΟΣ', '👩'];
  const parts = [...words, '_', '-', '.', ',', '”', ' ', ' ', ' ', '\n', '\u0301', '\0'];
  const seed = 3;
  const prng = createPrng(seed);
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: 1 + prng.int(40) }, () => parts[prng.int(parts.length)]).join('');
    const [row, reference] = [embedOne(text), naive(text)];
    const distance = Math.max(...reference.map((value, i) => Math.abs(value - row[i]!)));
    assert.ok(
      distance < 1e-6,
      `seed ${seed}, round ${round}, ${JSON.stringify(text)}: a component is off by ${distance}`,
    );
  }
});

test('finds the passage that means the query', () => {
  const passages = [
    'Captain Nemo commands the Nautilus',
    'Wings of swept planform at transonic speeds',
    'Bread rises while the yeast ferments sugar',
  ];
  const query = embedOne('submarine captain');
  const scores = passages.map((passage) => dot(query, embedOne(passage)));
  assert.equal(scores.indexOf(Math.max(...scores)), 0);
});

test('the same text gives the same bits alone, in any batch, and after everything learned was forgotten', () => {
  const texts = PINNED.map(([text]) => text);
  const alone = texts.map((text) => Buffer.from(new BuiltinEmbedder().vectorsOf([text]).buffer));
  const assertSameBits = (order: readonly number[]): void => {
    const batch = Buffer.from(embedder.vectorsOf(order.map((i) => texts[i]!)).buffer);
    assert.deepEqual(batch, Buffer.concat(order.map((i) => alone[i]!)));
  };
  assertSameBits(texts.map((_, i) => i));
  assertSameBits([3, 0, 3, 8, 1, 1]);
  const prng = createPrng(5);
  const strangers = Array.from({ length: 60 }, () =>
    Array.from({ length: 2500 }, () => `w${prng.int(2 ** 31).toString(36)}`).join(' '),
  );
  embedder.vectorsOf(strangers);
  assertSameBits(texts.map((_, i) => i).reverse());
});

test('a row has length 1, or is zero where the text has neither a token nor a word', () => {
  const lengthOf = (text: string): number => Math.sqrt(dot(embedOne(text), embedOne(text)));
  for (const text of ['a', '...', '👩', '§', 'wing'.repeat(1000), '\u0301 x'])
    assert.ok(Math.abs(lengthOf(text) - 1) < 1e-6, text);
  for (const text of ['', ' \t\r\n', '\0\u200b', '\u0301\u0327']) assert.equal(lengthOf(text), 0, JSON.stringify(text));
  assert.equal(embedder.vectorsOf([]).length, 0);
});

test('takes any length and shape of text', () => {
  const megabyte = 1 << 20;
  for (const unit of ['a', '数', 'a\u0301\u0327', '.,', '\u200b', '𐐨', '\ud800', "Σ'"]) {
    const row = embedOne(unit.repeat(megabyte / unit.length / 2));
    assert.ok(row.every(Number.isFinite), JSON.stringify(unit));
  }
  assert.ok(dot(embedOne(`${'x'.repeat(megabyte)} wing`), embedOne('wing')) > 0);
});
