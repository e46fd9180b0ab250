// MessagePack of callers: what it gives, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import { msgpackValues, readMsgpack, splitMsgpack } from '../../../src/api/msgpack.js';
import { type Prng, createPrng } from '../../../src/base/prng.js';

const SEED = 3408;
const SHAPE = { namesMax: 1000, valuesMax: 5000, levelsMax: 64 };
const packr = new Packr({ useRecords: false });
const pack = (value: unknown): Buffer => packr.pack(value);
const read = (bytes: Uint8Array): unknown => readMsgpack(Buffer.from(bytes), SHAPE, 'v');

function codeOf(bytes: Uint8Array): string {
  try {
    read(bytes);
    return 'none';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test('values of each kind', () => {
  const numbers = [
    0,
    127,
    128,
    255,
    256,
    65_535,
    65_536,
    2 ** 32,
    2 ** 53,
    -1,
    -32,
    -33,
    -128,
    -129,
    -32_769,
    -(2 ** 31) - 1,
  ];
  const values: unknown[] = [...numbers, 0.1, null, true, false, '', 'é'.repeat(40), 'a'.repeat(70_000), [], {}];
  for (const value of values) assert.deepStrictEqual(read(pack({ a: [value] })), { a: [value] });
  assert.deepStrictEqual(read(Buffer.from('81a161cf0000000000000001', 'hex')), { a: 1 });
  assert.deepStrictEqual(read(Buffer.from('81a161d3ffffffffffffffff', 'hex')), { a: -1 });
  assert.deepStrictEqual(read(Buffer.from('81a161ca3fc00000', 'hex')), { a: 1.5 });
  assert.deepStrictEqual(read(Buffer.from('81a161dd00000001c3', 'hex')), { a: [true] });
  assert.deepStrictEqual(read(Buffer.from('81a161df00000001a162c2', 'hex')), { a: { b: false } });
});

test('a vector is binary, wherever it stands in memory', () => {
  const vector = Float32Array.of(1, -2.5, 3e-9);
  for (let shift = 0; shift < 4; shift++) {
    const body = Buffer.concat([Buffer.alloc(shift), pack({ v: new Uint8Array(vector.buffer), k: 1 })]).subarray(shift);
    assert.deepStrictEqual(readMsgpack(body, SHAPE, 'v'), { v: vector, k: 1 });
  }
});

test('what JSON has not is refused', () => {
  const cases: [Uint8Array, string][] = [
    [Buffer.alloc(0), 'invalid_msgpack'],
    [Buffer.of(0xc1), 'invalid_msgpack'],
    [Buffer.of(1, 1), 'invalid_msgpack'],
    [pack({ v: new Uint8Array(5) }), 'validation_error'],
    [pack({ a: new Uint8Array(4) }), 'validation_error'],
    [pack({ a: { v: new Uint8Array(4) } }), 'validation_error'],
    [pack([new Uint8Array(4)]), 'validation_error'],
    [pack({ a: new Date(0) }), 'invalid_msgpack'],
    [Buffer.of(0x81, 0xa1, 0x61, 0xd4, 1, 0), 'invalid_msgpack'],
    [pack({ a: NaN }), 'validation_error'],
    [pack({ a: [Infinity] }), 'validation_error'],
    [Buffer.from('81a161cf0020000000000001', 'hex'), 'validation_error'],
    [Buffer.from('8101c0', 'hex'), 'invalid_msgpack'],
    [Buffer.from('81a161a1ff', 'hex'), 'invalid_msgpack'],
    [Buffer.concat([Buffer.of(0x81, 0xa9), Buffer.from('__proto__'), Buffer.of(0x80)]), 'invalid_msgpack'],
    [Buffer.from('ddffffffff', 'hex'), 'invalid_msgpack'],
    [Buffer.from('dfffffffff', 'hex'), 'invalid_msgpack'],
    [Buffer.from('dbffffffff', 'hex'), 'invalid_msgpack'],
    [Buffer.from('c6ffffffff', 'hex'), 'invalid_msgpack'],
    [Buffer.alloc(100_000, 0x91), 'request_too_large'],
    [Buffer.concat([Buffer.alloc(64, 0x91), Buffer.of(0x90)]), 'request_too_large'],
    [pack(new Array(5001).fill(1)), 'request_too_large'],
    [pack(Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [i, i]))), 'request_too_large'],
  ];
  for (const [bytes, code] of cases) assert.equal(codeOf(bytes), code, bytes.subarray(0, 30).toString());
  assert.equal(codeOf(Buffer.concat([Buffer.alloc(63, 0x91), Buffer.of(0x90)])), 'none');
});

function valueOf(prng: Prng, levels: number): unknown {
  const kind = prng.int(levels > 0 ? 6 : 4);
  if (kind === 0) return prng.int(2 ** 31) - 2 ** 30;
  if (kind === 1) return prng.normal();
  if (kind < 4) return ['', 'a', 'é', '漢'.repeat(20)][prng.int(4)];
  const length = prng.int(6);
  if (kind === 4) return Array.from({ length }, () => valueOf(prng, levels - 1));
  return Object.fromEntries(Array.from({ length }, (_, i) => [`k${i}`, valueOf(prng, levels - 1)]));
}

test('random values are read; cut off or changed, they are read or refused, and nothing else happens', () => {
  const prng = createPrng(SEED);
  const known = new Set(['none', 'invalid_msgpack', 'validation_error', 'request_too_large']);
  for (let i = 0; i < 1000; i++) {
    const value = valueOf(prng, 4);
    const bytes = pack(value);
    assert.deepStrictEqual(read(bytes), value, `seed ${SEED}`);
    if (bytes.length > 1) assert.equal(codeOf(bytes.subarray(0, prng.int(bytes.length - 1))), 'invalid_msgpack');
    const changed = Buffer.from(bytes);
    changed[prng.int(changed.length)] = prng.int(256);
    assert.ok(known.has(codeOf(changed)), `seed ${SEED}`);
  }
});

test('a list is split into its items', () => {
  const items = [{ q: 'a' }, 1, [[]], 'text', { v: new Uint8Array(8) }];
  const { skeleton, count, items: found } = splitMsgpack(pack({ searches: items }), 'searches', 10);
  assert.deepEqual([skeleton, count], [{ searches: [] }, 5]);
  assert.deepEqual(found, items.map(pack));
  assert.deepEqual(msgpackValues(Buffer.concat(found)), found);
  assert.deepEqual(splitMsgpack(pack({ k: 1, searches: items }), 'searches', 10).skeleton, { k: 1, searches: [] });
  const many = splitMsgpack(pack({ searches: items }), 'searches', 4);
  assert.deepEqual([many.count, many.items], [5, []]);
  assert.deepEqual(splitMsgpack(pack({ searches: 1 }), 'searches', 4), {
    skeleton: { searches: 1 },
    count: 0,
    items: [],
  });
  for (const body of [
    pack({ searches: items }).subarray(0, -1),
    Buffer.concat([pack({ searches: items }), Buffer.of(0)]),
  ])
    assert.throws(() => splitMsgpack(body, 'searches', 10), { code: 'invalid_msgpack' });
});
