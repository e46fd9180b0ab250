// Random requests for the operations of an OpenAPI document: valid ones, nearly valid ones with one error, and hostile
// ones. The n-th request of a seed is always the same.
import fc from 'fast-check';
import { type Document, type Operation, type Parameter, fitting } from './openapi.js';

// Encodes a value as a request body by content type: JSON, NDJSON, form.

const sentType = (type: string): string => (type.startsWith('multipart/') ? `${type}; boundary=b0undary` : type);

/** Replaces lone surrogates, which UTF-8 cannot encode. */
const wellFormed = (text: string): string => Buffer.from(text).toString();

/** JSON, two lines of it for NDJSON, or a form whose `file` is a text file. */
function encoded(given: unknown, type: string): Buffer {
  if (type.includes('ndjson')) return Buffer.from([given, given].map((line) => JSON.stringify(line)).join('\n'));
  if (!type.startsWith('multipart/')) return Buffer.from((JSON.stringify(given) as string | undefined) ?? '');
  const parts = Object.entries((given ?? {}) as Record<string, unknown>).map(
    ([name, value]) =>
      `--b0undary\r\nContent-Disposition: form-data; name="${name}"${name === 'file' ? '; filename="random.txt"' : ''}\r\n\r\n${typeof value === 'object' ? JSON.stringify(value) : String(value)}\r\n`,
  );
  return Buffer.from(`${parts.join('')}--b0undary--\r\n`);
}

// Fast-check arbitraries for one error in a request: in a path segment, a header or a body.

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

/** A path segment, percent-encoded, possibly incorrectly. */
function damagedSegment(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(...SEGMENTS),
    fc.string({ unit: 'binary', maxLength: 20 }).map((text) => encodeURIComponent(wellFormed(text))),
  );
}

function damagedHeaders(): fc.Arbitrary<Record<string, string>> {
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

/** A body with a wrong value, a field too many or too few, an invalid number, a truncation, or no JSON at all. */
function damagedBody(given: unknown, type: string): fc.Arbitrary<{ type: string; bytes: Buffer }> {
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

export interface RandomRequest {
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether the document describes the answer: not if method or path are not those of the operation. */
  readonly isDescribed: boolean;
}

type Damage = 'none' | 'path' | 'query' | 'body' | 'headers' | 'method';

/** Few tenants, collections and documents, so that most requests meet existing data. */
const POOLS: Readonly<Record<string, readonly string[]>> = {
  tenant: ['t0', 't1'],
  name: ['c0', 'c1', 'c2'],
  collection: ['c0', 'c1', 'c2'],
  docid: ['d0', 'd1', 'a', 'captain'],
  rid: ['d0::chunk_0', 'd1::chunk_0', 'd0::0', 'none'],
  new_name: ['c0', 'c1', 'c2', 'c3'],
};

const DAMAGES: fc.Arbitrary<Damage> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Damage>('none') },
  { weight: 5, arbitrary: fc.constant<Damage>('body') },
  { weight: 3, arbitrary: fc.constantFrom<Damage>('path', 'query') },
  { weight: 1, arbitrary: fc.constantFrom<Damage>('headers', 'method') },
);

/** `count` requests of a seed, starting at number `first`. `queryIds` are ids that searches have returned so far. */
export function requestsOf(
  document: Document,
  operations: readonly Operation[],
  seed: number,
  first: number,
  count: number,
  queryIds: readonly string[],
): RandomRequest[] {
  const request = fc
    .constantFrom(...operations)
    .chain((operation) => DAMAGES.chain((damage) => requestOf(document, operation, damage, queryIds)));
  return fc.sample(request, { seed: seed * 1_000_003 + first, numRuns: count });
}

function requestOf(
  document: Document,
  operation: Operation,
  damage: Damage,
  queryIds: readonly string[],
): fc.Arbitrary<RandomRequest> {
  return fc
    .record({
      path: pathOf(operation, damage, queryIds),
      query: queryOf(document, operation, damage),
      sent: bodyOf(document, operation, damage),
      headers: damage === 'headers' ? damagedHeaders() : fc.constant({}),
      method:
        damage === 'method'
          ? fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS')
          : fc.constant(operation.method),
    })
    .map(({ path, query, sent, headers, method }) => ({
      operation,
      method,
      path: `${path}${query}`,
      headers: { ...(sent.type === '' ? {} : { 'content-type': sent.type }), ...headers },
      body: sent.bytes,
      isDescribed: damage !== 'method' && damage !== 'path' && damage !== 'headers',
    }));
}

function pathOf({ path, parameters }: Operation, damage: Damage, queryIds: readonly string[]): fc.Arbitrary<string> {
  const names = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const values = names.map((name) => {
    const pool = name === 'query_id' && queryIds.length > 0 ? queryIds : (POOLS[name] ?? ['x']);
    return fc.constantFrom(...pool).map(encodeURIComponent);
  });
  return fc
    .record({ values: fc.tuple(...values), at: fc.nat(Math.max(0, names.length - 1)), hostile: damagedSegment() })
    .map(({ values: chosen, at, hostile }) =>
      names.reduce(
        (filled, name, i) =>
          filled.replace(`{${name}}`, () => (damage === 'path' && i === at ? hostile : (chosen[i] as string))),
        path,
      ),
    );
}

function queryOf(document: Document, { parameters }: Operation, damage: Damage): fc.Arbitrary<string> {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  const some = known.map((parameter) => optional(parameter, fitting(document, parameter.schema)));
  const wild =
    damage === 'query'
      ? fc.array(
          fc.tuple(
            fc.constantFrom('k', 'q', 'limit', 'offset', 'cursor', 'force', 'mode', 'x'),
            fc.oneof(damagedSegment(), fc.constantFrom('-1', '0', '1e9', 'NaN', 'true')),
          ),
          { maxLength: 3 },
        )
      : fc.constant([]);
  return fc.tuple(fc.tuple(...some), wild).map(([given, more]) => {
    const pairs = [
      ...given.flatMap((value, i) =>
        value === undefined ? [] : [[known[i]?.name, encodeURIComponent(wellFormed(String(value)))]],
      ),
      ...more,
    ];
    return pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.join('=')).join('&')}`;
  });
}

const optional = ({ required }: Parameter, value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  required ? value : fc.option(value, { nil: undefined });

interface Sent {
  type: string;
  bytes: Buffer;
}

function bodyOf(document: Document, { bodies }: Operation, damage: Damage): fc.Arbitrary<Sent> {
  if (bodies.size === 0)
    return damage === 'body' ? damagedBody(undefined, '') : fc.constant({ type: '', bytes: Buffer.alloc(0) });
  return fc.constantFrom(...bodies).chain(([type, schema]) => {
    const value = fitting(document, schema).map((given) => withPools(given));
    return damage === 'body'
      ? value.chain((given) => damagedBody(given, type))
      : value.map((given) => ({ type: sentType(type), bytes: encoded(given, type) }));
  });
}

/** The body with its `new_name`, if it has one, replaced by a name of the pools. */
function withPools(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('new_name' in given) || typeof given.new_name !== 'string')
    return given;
  return { ...given, new_name: POOLS.new_name?.[given.new_name.length % 4] };
}
