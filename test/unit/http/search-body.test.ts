// The body of a search, whose vector is read straight into float32, compared with JSON.parse: the same fields, the same
// numbers to the bit, the same client errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonFloats } from '../../../src/base/json-floats.js';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { parseJson } from '../../../src/http/json-body.js';
import { SearchBodyReader } from '../../../src/http/search-body.js';

const SEED = 771;
const reader = new SearchBodyReader();

/** The body as JSON.parse reads it, with its vector as float32; the error's code where it is rejected. */
function naively(text: Buffer): unknown {
  try {
    const body = parseJson(text) as { v?: unknown } | null;
    return Array.isArray(body?.v) ? { ...body, v: Float32Array.from(body.v as number[]) } : body;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

function read(text: Buffer): unknown {
  try {
    const { body, vector } = reader.read(text) as { body: { v?: unknown } | null; vector?: Float32Array };
    if (vector) assert.equal(body?.v, null, 'the vector is told once');
    return vector
      ? { ...body, v: vector }
      : Array.isArray(body?.v)
        ? { ...body, v: Float32Array.from(body.v as number[]) }
        : body;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

function same(text: string): void {
  assert.deepStrictEqual(read(Buffer.from(text)), naively(Buffer.from(text)), `${text.slice(0, 300)} (seed ${SEED})`);
}

test('bodies as clients write them, and as they should not', () => {
  const bodies = [
    '{"v":[1,2],"k":3}',
    '{"k":3,"v":[0.5,-0.25]}',
    ' { "k" : 3 , "v" : [ 1 , -2e-3 ,\t0.1\n] , "exact" : true } ',
    '{"v":[]}',
    '{"v":null,"q":"a"}',
    '{"v":"a"}',
    '{"q":"v"}',
    '{}',
    '',
    '[]',
    'null',
    '"v"',
    '{"v":[1],"v":[2]}',
    '{"v":[1],"v":null}',
    '{"v":[1],"\\u0076":[2]}',
    '{"\\u0076":[2],"v":[1]}',
    '{"filters":{"v":[9]},"v":[1]}',
    '{"v":[1],"filters":{"v":[9]}}',
    '{"filters":{"a":"}\\"]"},"v":[1]}',
    '{"v":[1,]}',
    '{"v":[,1]}',
    '{"v":[1 2]}',
    '{"v":[1',
    '{"v":[1]',
    '{"v":[1]}}',
    '{"v":[1]}x',
    '{"v":[1]"k":2}',
    '{"v" [1]}',
    '{v:[1]}',
    '{"v":[01]}',
    '{"v":[1.]}',
    '{"v":[.5]}',
    '{"v":[-]}',
    '{"v":[+1]}',
    '{"v":[1e]}',
    '{"v":[1e+]}',
    '{"v":[1e5,1E-5,1e+5]}',
    '{"v":[-0,0,0.0,-0.0]}',
    '{"v":[1e39]}',
    '{"v":[1e400]}',
    '{"v":[1e-400]}',
    '{"v":[true]}',
    '{"v":["1"]}',
    '{"v":[[1]]}',
    '{"v":[NaN]}',
    '{"v":[0x1]}',
    '{"v":[1]},',
    '{,"v":[1]}',
    '{"k":,"v":[1]}',
    '{"k":1 "v":[1]}',
    '{"a"x:1,"v":[1]}',
    '{"v":[1],"k":"\u00e9"}',
    '\ufeff{"v":[1]}',
    '{"q":"\u65e5","v":[1]}',
    '{"v":[1],"q":"\\""}',
    '{"v":[1]\u00a0}',
  ];
  bodies.forEach(same);
  assert.equal(
    read(Buffer.from([...Buffer.from('{"v":[1],"q":"'), 0xff, ...Buffer.from('"}')])),
    'invalid_json',
    'what is no UTF-8 is refused',
  );
  assert.ok(reader.read(Buffer.from('{"k":1,"v":[1]}')).vector, 'a plain one is not read by JSON.parse');
});

test('numbers of every length and size, to the bit', () => {
  const prng = createPrng(SEED);
  for (let round = 0; round < 3000; round++)
    same(
      `{"v":[${Array.from({ length: 1 + prng.int(20) }, () => numberText(prng)).join(prng.int(4) === 0 ? ' ,\n' : ',')}],"k":${prng.int(100)}}`,
    );
});

test('long lists, of which the reader sees a part at a time', () => {
  const prng = createPrng(SEED + 3);
  for (const [count, between] of [
    [6000, ','],
    [9000, ', '],
    [20_000, ','],
    [20_000, ', '],
  ] as const) {
    const numbers = Array.from({ length: count }, () =>
      prng.int(100) === 0 ? finiteText(prng) : (prng.normal() / 20).toString(),
    );
    const text = Buffer.from(`{"v":[${numbers.join(between)}],"k":1}`);
    const { body, vector } = reader.read(text);
    assert.deepStrictEqual(body, { v: null, k: 1 });
    assert.deepStrictEqual(vector, Float32Array.from(numbers, Number), `seed ${SEED + 3}`);
    assert.ok(['invalid_json', 'validation_error'].includes(String(read(text.subarray(0, 65_500 + prng.int(100))))));
  }
});

test('what stands beside a long vector counts, however it is written', () => {
  const vector = Float32Array.from({ length: 20_000 }, (_, at) => at);
  const list = JSON.stringify([...vector]);
  const found = (text: string): unknown => read(Buffer.from(text));
  assert.deepStrictEqual(found(`{"v":${list},"filters":{"a":"\\" "}}`), { v: vector, filters: { a: '" ' } });
  assert.deepStrictEqual(found(`{"v":${list},"filters":{"v":[9]}}`), { v: vector, filters: { v: [9] } });
  assert.deepStrictEqual(found(`{"v":${list},"v":[1,2]}`), { v: Float32Array.of(1, 2) });
  assert.deepStrictEqual(found(`{"v":${list},"\\u0076":null}`), { v: null });
  assert.equal(found(`{"v":${list},"v":0}x`), 'invalid_json');
});

test('a long list of what are no vectors is refused without being parsed', () => {
  for (const [what, item] of Object.entries({
    strings: '""',
    lists: '[]',
    large: '1e39',
    'long digits': '0'.repeat(1100),
  }))
    assert.equal(read(Buffer.from(`{"v":[${Array(5000).fill(item).join(',')}]}`)), 'validation_error', what);
  assert.equal(read(Buffer.from(`{"v":[${Array(65_537).fill('1').join(',')}]}`)), 'validation_error');
  assert.equal(read(Buffer.from(`{"q":"${'a'.repeat(300_000)}"}`)), 'request_too_large');
});

test('numbers beside and between two of float32, where the last digits decide', () => {
  const prng = createPrng(SEED + 1);
  const float = new Float32Array(1);
  const bits = new Uint32Array(float.buffer);
  for (let round = 0; round < 20_000; round++) {
    bits[0] = prng.int(0x7f000000);
    const low = float[0]!;
    bits[0]!++;
    const middle = (low + float[0]!) / 2;
    const texts = [
      String(middle),
      middle.toPrecision(17),
      middle.toPrecision(21),
      `${middle.toFixed(Math.min(20, prng.int(21)))}`,
      `${middle.toFixed(10)}0000000001`,
    ];
    same(`{"v":[${texts.filter((text) => !text.includes('Infinity')).join(',')}]}`);
  }
});

test('bodies with a byte changed, taken out or put in', () => {
  const prng = createPrng(SEED + 2);
  const plain = '{"k":10,"mode":"vector","v":[0.12345,-1.5e-3, 7],"filters":{"a":[1,{"v":2}]},"exact":true}';
  const bytes = '{}[]",:\\v0129.-+eE \n\u0000n';
  for (let round = 0; round < 20_000; round++) {
    const at = prng.int(plain.length);
    same(plain.slice(0, at) + (prng.int(3) === 0 ? '' : bytes[prng.int(bytes.length)]) + plain.slice(at + prng.int(3)));
  }
});

test('a list that is longer than it may be is left alone, and one as long is read', () => {
  const floats = new JsonFloats(3);
  assert.deepEqual(floats.read(Buffer.from('[1,2,3]'), 0), Float32Array.of(1, 2, 3));
  assert.equal(floats.end, 7);
  assert.equal(floats.read(Buffer.from('[1,2,3,4]'), 0), undefined);
});

/** A number that float32 can hold. */
function finiteText(prng: Prng): string {
  for (;;) {
    const text = numberText(prng);
    if (Math.abs(Math.fround(Number(text))) < Infinity) return text;
  }
}

function numberText(prng: Prng): string {
  const value = prng.normal() * 10 ** (prng.int(60) - 30);
  const digits = (count: number): string => Array.from({ length: count }, () => prng.int(10)).join('');
  const kinds = [
    () => String(value),
    () => String(Math.fround(value)),
    () => value.toPrecision(1 + prng.int(21)),
    () => value.toExponential(prng.int(20)),
    () => String(prng.int(1000)),
    () => Math.fround(prng.normal() / 20).toString(),
    () => (prng.normal() / 20).toFixed(prng.int(21)),
    () => `${prng.int(2) === 0 ? '-' : ''}${prng.int(10)}.${digits(1 + prng.int(40))}`,
    () => `${1 + prng.int(9)}${digits(prng.int(45))}`,
    () => `0.${'0'.repeat(prng.int(50))}${digits(1 + prng.int(20))}e${prng.int(80) - 40}`,
  ];
  return (kinds[prng.int(kinds.length)] as () => string)();
}
