// Finds the numbers of a JSON text that a reader would not print as they were written, and quotes long ones: named
// cases, and a comparison with integers of any length.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedNumber, hasNumber, withLongNumbersQuoted } from '../../../src/base/json.js';
import { createPrng } from '../../../src/base/prng.js';

const kept = [
  '0',
  '-0',
  '9007199254740991',
  '-9007199254740992',
  '9007199254740994',
  '1e22',
  '1E+23',
  '100000000000000000000',
  '12345678901234567000',
  '0.1',
  '3.141592653589793238462643383279',
  '1.7976931348623157e308',
  '5e-324',
  '0e999',
  '0.0000000000000000000000',
  '10.00000000000000000000',
];
const changed = [
  '9007199254740993',
  '-9007199254740993',
  '9007199254740993.0',
  '9.007199254740993e15',
  '18446744073709551615',
  '12345678901234567890',
  '1e400',
  '-1e309',
  '1e-400',
  `1${'0'.repeat(400)}`,
  `1${'0'.repeat(200_000)}1`,
];

test('named cases: numbers bare, nested and beside strings that look like them', () => {
  const around = [(n: string) => n, (n: string) => `{"a":[1,{"b":${n}}]}`, (n: string) => ` [ "\\"1e999", ${n} ] `];
  for (const wrap of around) {
    for (const number of kept) assert.equal(changedNumber(wrap(number)), undefined, number);
    for (const number of changed) assert.equal(changedNumber(wrap(number)), number);
  }
});

test('where names are given, only numbers below them are checked', () => {
  const names = new Set(['metadata', 'filters']);
  const told = (json: string): string | undefined => changedNumber(json, names);
  for (const json of [
    '{"vector":[9007199254740993,1e400],"metadata":{"a":1}}',
    '{"metadata":1,"v":9007199254740993}',
    '{"metadata":[{"x":1}],"v":[9007199254740993]}',
    '{"text":"metadata: 9007199254740993","metadata":"9007199254740993"}',
    '{"a":{"metadata":{"b":2},"c":9007199254740993}}',
  ])
    assert.equal(told(json), undefined, json);
  for (const json of [
    '{"vector":[1],"metadata":{"a":9007199254740993}}',
    '{"metadata" : 9007199254740993}',
    '{"m\\u0065tadata":{"a":[[9007199254740993]]}}',
    '{"params":{"arguments":{"filters":{"$or":[{"id":{"$in":[1,9007199254740993]}}]}}}}',
    '{"metadata":1,"filters":{"x":"}","y":9007199254740993}}',
  ])
    assert.equal(told(json), '9007199254740993', json);
});

test('a random integer is reported unless a reader prints it with the same digits', () => {
  const seed = 7;
  const prng = createPrng(seed);
  for (let round = 0; round < 20_000; round++) {
    const digits = Array.from({ length: 14 + prng.int(10) }, (_, i) => (i === 0 ? 1 + prng.int(9) : prng.int(10))).join(
      '',
    );
    const isKept = BigInt(digits) === BigInt(Number(digits)) || String(Number(digits)) === digits;
    const told = changedNumber(`{"id":${digits}}`);
    // A double may hold a number exactly and still print it with other digits.
    if (!isKept) assert.equal(told, digits, `seed ${seed}`);
    else
      assert.equal(told === undefined, String(Number(digits)) === digits || /e/.test(String(Number(digits))), digits);
  }
});

test('long numbers become strings, and all others stay as they were', () => {
  const json = '{"a": 9007199254740993, "b":[1e400,1.50,"9007199254740993"], "c":-18446744073709551615}';
  assert.equal(
    withLongNumbersQuoted(json),
    '{"a": "9007199254740993", "b":["1e400",1.50,"9007199254740993"], "c":"-18446744073709551615"}',
  );
  assert.equal(withLongNumbersQuoted('{"a":1}'), '{"a":1}');
});

test('a number is found at any depth of a value, and nowhere else', () => {
  for (const value of [0, -1.5, [[1]], { a: { b: [null, 3] } }]) assert.equal(hasNumber(value), true);
  for (const value of [null, undefined, '1', true, [], {}, { a: ['1', { b: false }] }])
    assert.equal(hasNumber(value), false);
});
