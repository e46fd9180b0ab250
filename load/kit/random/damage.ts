// One thing wrong with a request: a path segment, a header, a body.
// Arbitraries of fast-check, used by requests.ts.
import fc from 'fast-check';
import { encoded, sentType, wellFormed } from './bodies.js';

const SEGMENTS = [
  '%00',
  '%FF',
  '%',
  '%2e%2e',
  '..',
  '%2F',
  '%C3%28',
  "'%20OR%201=1",
  '%F0%9F%98%80',
  'a'.repeat(200),
  '%0d%0aX:1',
  '-',
  '.',
  '{x}',
  '$(id)',
  '__proto__',
  'constructor',
  '1e999',
  '%ED%A0%80',
];
const NUMBERS = ['1e999', '-1e999', '1e-400', 'NaN', '9007199254740993', '-0', '0x10', '1e39'];
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  '',
  ' ',
  '\u0000',
  '\ud800',
  'x'.repeat(5000),
  [],
  [[]],
  {},
  { $ne: null },
  { __proto__: null, constructor: 1 },
  Array.from({ length: 2000 }, () => 0),
];

/** Ready to stand in a path: percent-encoded, if perhaps wrongly. */
export function damagedSegment(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(...SEGMENTS),
    fc.string({ unit: 'binary', maxLength: 20 }).map((text) => encodeURIComponent(wellFormed(text))),
  );
}

export function damagedHeaders(): fc.Arbitrary<Record<string, string>> {
  return fc.constantFrom<Record<string, string>>(
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'multipart/form-data' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'x'.repeat(500) },
    { 'content-encoding': 'gzip' },
    { 'x-request-id': 'x'.repeat(500) },
    { 'accept-encoding': 'gzip;q=0, br;q=1, *' },
    { accept: 'image/png' },
    { authorization: 'Bearer ' },
    { authorization: `Bearer ${'x'.repeat(2000)}` },
    { range: 'bytes=0-1' },
    { 'if-none-match': '*' },
    { expect: '100-continue' },
  );
}

/** A body with a wrong value, a field too many or too few, a number that is none, cut off, or no JSON at all. */
export function damagedBody(given: unknown, type: string): fc.Arbitrary<{ type: string; bytes: Buffer }> {
  const sent = sentType(type || 'application/json');
  const whole = encoded(given ?? {}, type);
  const bytes = fc.oneof(
    replaced(given).map((value) => encoded(value, type)),
    replaced(given).map((value) => encoded(value, type)),
    fc
      .constantFrom(...NUMBERS)
      .map((number) => Buffer.from(whole.toString().replace(/-?\d+(\.\d+)?(e[+-]?\d+)?/i, number))),
    fc.nat(whole.length).map((at) => whole.subarray(0, at)),
    fc.uint8Array({ maxLength: 200 }).map((noise) => Buffer.from(noise)),
    fc
      .constantFrom('', 'null', '[]', '"x"', '0', '{"a":1,"a":2}', `${'['.repeat(3000)}`, '\ufeff{}', '{} {}')
      .map((text) => Buffer.from(text)),
  );
  return bytes.map((damaged) => ({ type: sent, bytes: damaged }));
}

function replaced(given: unknown): fc.Arbitrary<unknown> {
  const value = fc.constantFrom(...VALUES);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return value;
  const names = Object.keys(given);
  return fc.tuple(fc.constantFrom(...names, 'unknown_field'), value, fc.boolean()).map(([name, wrong, isDropped]) => {
    const { [name]: _dropped, ...rest } = given as Record<string, unknown>;
    return isDropped ? rest : { ...rest, [name]: wrong };
  });
}
