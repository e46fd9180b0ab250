// JSON to MessagePack, against what msgpackr reads of it and JSON.parse of the text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unpack } from 'msgpackr';
import { listHead, msgpackOfJson } from '../../../src/base/json-msgpack.js';
import { type Prng, createPrng } from '../../../src/base/prng.js';

const SEED = 3407;

const same = (json: string): void =>
  assert.deepStrictEqual(
    unpack(msgpackOfJson(Buffer.from(json))),
    JSON.parse(json),
    `${json.slice(0, 300)} (seed ${SEED})`,
  );

test('values of each kind and size', () => {
  const numbers = [0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 999_999_999_999_999, 2 ** 53, 1e300];
  for (const number of numbers) for (const sign of [1, -1]) same(JSON.stringify([sign * number]));
  for (const number of [-32, -33, -128, -129, -(2 ** 31), -(2 ** 31) - 1, 0.1, -1.5e-7]) same(JSON.stringify(number));
  for (const text of ['-0', '1e5', '1E+2', '-1.25e-3', 'true', 'false', 'null', '""', '[]', '{}']) same(text);
  for (const length of [0, 1, 15, 16, 23, 24, 25, 31, 32, 255, 256, 65_535, 65_536]) {
    same(JSON.stringify('a'.repeat(length)));
    same(JSON.stringify('é'.repeat(length)));
    same(JSON.stringify('"'.repeat(length)));
    same(JSON.stringify(new Array(length).fill(length)));
    same(JSON.stringify(Object.fromEntries(Array.from({ length }, (_, i) => [`k${i}`, i]))));
  }
});

test('white space and escapes', () => {
  same(' { "a" : [ 1 , 2 , { } ] , "b\\n\\u00e9" : "\\\\" , "c":"\\"" } ');
  same('["plain","\\u0041","plain again","\\ud83d\\ude00","and a longer one without any escape in it"]');
});

function valueOf(prng: Prng, levels: number): unknown {
  const kind = prng.int(levels > 0 ? 7 : 5);
  if (kind === 0) return prng.int(2 ** 31) - 2 ** 30;
  if (kind === 1) return prng.normal() * 10 ** (prng.int(40) - 20);
  if (kind === 2) return [null, true, false][prng.int(3)];
  if (kind < 5) return textOf(prng);
  const length = prng.int(20);
  if (kind === 5) return Array.from({ length }, () => valueOf(prng, levels - 1));
  return Object.fromEntries(Array.from({ length }, () => [`k${textOf(prng)}`, valueOf(prng, levels - 1)]));
}

const PIECES = ['a', 'é', '漢', '😀', '"', '\\', '\n', ' ', '{', ']', ','];
const textOf = (prng: Prng): string =>
  Array.from({ length: prng.int(prng.int(4) === 0 ? 80 : 12) }, () => PIECES[prng.int(PIECES.length)]).join('');

test('random values', () => {
  const prng = createPrng(SEED);
  for (let i = 0; i < 2000; i++) same(JSON.stringify(valueOf(prng, 4)));
});

test('a list by its head and its items', () => {
  const items = ['1', '"a"', '[]'].map((json) => msgpackOfJson(Buffer.from(json)));
  assert.deepEqual(unpack(Buffer.concat([listHead(3), ...items])), [1, 'a', []]);
});
