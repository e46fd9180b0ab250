// The terms of metadata decide filters rightly: every value with every condition on it, and all paths that lead to a
// field.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldTest, Scalar } from '../../../src/api/filter.js';
import {
  type Lookup,
  UNLISTED,
  chunkFieldTerms,
  flattenLayer,
  lookupOf,
} from '../../../src/engine/filter/field-terms.js';
import { compileFilter } from '../../../src/engine/filter/match.js';

type Json = Record<string, unknown>;

const LONG = 'x'.repeat(199);
const SCALARS: Scalar[] = [
  '',
  'a',
  'ab',
  'b',
  'B',
  'é',
  'null',
  'true',
  'false',
  true,
  false,
  null,
  '5',
  '5.0',
  '5.5',
  '05',
  '-7',
  '-0',
  '0',
  '1e3',
  '10',
  '9',
  5,
  5.5,
  -7,
  -7.25,
  0,
  -0,
  10,
  9,
  1e300,
  -1e300,
  1e-300,
  Infinity,
  -Infinity,
  2 ** 53,
  2 ** 53 - 1,
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '9'.repeat(400),
  '2024-05-01',
  '2024-05-01T00:00:00Z',
  '2024-05-01 00:00',
  '2024-04-30T23:30:00-01:00',
  '2024-05-01T10:00:00+02:00',
  '2024-05-01T09:00:00Z',
  '2024-13-01',
  '2023-12-31',
  '2024',
  '\u0000',
  'a\u0000',
  'a\u0000b',
  'a\u0001',
  'a\u0001b',
  'a\u0002',
  '\uffee',
  '\ud7ff',
  '\ue000',
  '\u{10000}',
  '\u{10ffff}',
  '\u{10ffff}a',
  LONG,
  `${LONG}y`,
  `${LONG}yz`,
  `${LONG}ya`,
  `${LONG}z`,
  `${LONG}\u{1f600}`,
  `${LONG}\u{1f600}a`,
  `${LONG}\u{1f601}`,
  `${LONG}y\u{1f600}`,
  `${LONG}\uffee`,
  `${LONG}\uffff`,
  `${LONG}\uffeex`,
  `${LONG}!!!!`,
  `${LONG}${LONG}`,
];

const isBefore = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;

/** Whether the lookup accepts the chunk; undefined where the chunk itself has to be checked. */
function decides(lookup: Lookup | undefined, terms: readonly string[]): boolean | undefined {
  if (!lookup || terms.includes(UNLISTED) || (lookup.unsure !== undefined && terms.includes(lookup.unsure)))
    return undefined;
  if (lookup.unsureRanges?.some(({ from, to }) => terms.some((term) => !isBefore(term, from) && isBefore(term, to))))
    return undefined;
  const inRange = lookup.ranges.some(({ from, to, piece = '', atEnd }) =>
    terms.some((term) => {
      const rest = term.slice(from.length);
      return !isBefore(term, from) && isBefore(term, to) && (atEnd ? rest.endsWith(piece) : rest.includes(piece));
    }),
  );
  return (
    inRange ||
    terms.some((term) => lookup.terms.includes(term)) ||
    (lookup.absent !== undefined && !terms.includes(lookup.absent))
  );
}

function conditionsOn(operand: Scalar): FieldTest[] {
  const conditions: FieldTest[] = [{ op: 'in', values: [operand] }, { op: 'exists' }];
  if (typeof operand === 'string' || typeof operand === 'number')
    for (const by of ['gt', 'gte', 'lt', 'lte'] as const) conditions.push({ op: 'compare', by, value: operand });
  if (typeof operand === 'string')
    for (const op of ['prefix', 'suffix', 'contains'] as const) conditions.push({ op, text: operand });
  return conditions;
}

const POINTS: Json[] = [
  { lat: 52.52, lon: 13.405 },
  { lat: 52.521, lon: 13.405 },
  { lat: 0, lon: 180 },
  { lat: 0, lon: -180 },
  { lat: -90, lon: 0 },
  { lat: 91, lon: 0 },
  { lat: '52.52', lon: '13.405' },
  { lat: 52.52 },
];
const REGIONS: FieldTest[] = [
  { op: 'near', lat: 52.52, lon: 13.405, radiusM: 50 },
  { op: 'near', lat: 0, lon: 179.9, radiusM: 50_000 },
  { op: 'near', lat: 0, lon: 0, radiusM: 20_040_000 },
  { op: 'box', south: 50, west: 10, north: 55, east: 20 },
  { op: 'box', south: -1, west: 170, north: 1, east: -170 },
  { op: 'box', south: -90, west: -180, north: 90, east: 180 },
];
const DATES: FieldTest[] = (['gt', 'gte', 'lt', 'lte'] as const).map((by) => ({
  op: 'time',
  by,
  timeMs: Date.UTC(2024, 4, 1),
}));

test('regions and dates against points, texts and other values', () => {
  let undecided = 0;
  const values = [...SCALARS, ...POINTS, POINTS, [POINTS[0], 'a', null], [[POINTS[0]]], { a: POINTS[0] }];
  for (const test of [...REGIONS, ...DATES]) {
    for (const [field, meta] of values.flatMap((value): [string, Json][] => [
      ['f', { f: value }],
      ['f.g', { f: { g: value } }],
      ['f.g', { f: [{ g: value }, { g: 1 }] }],
    ])) {
      const decided = decides(lookupOf(field, test), chunkFieldTerms({}, flattenLayer(meta)));
      if (decided === undefined) undecided++;
      else assert.equal(decided, compileFilter({ field, test })([meta]), JSON.stringify({ test, meta }));
    }
  }
  assert.ok(undecided < 3 * values.length, `${undecided} undecided`);
});

test('every value against every condition', () => {
  let undecided = 0;
  const values = [...SCALARS, [], ['a', 5], [['a']], { a: 1 }];
  const chunks = [{}, ...values.map((value): Json => ({ f: value }))].map((meta) => ({
    meta,
    terms: chunkFieldTerms({}, flattenLayer(meta)),
  }));
  for (const condition of SCALARS.flatMap(conditionsOn)) {
    const fits = compileFilter({ field: 'f', test: condition });
    const lookup = lookupOf('f', condition);
    for (const { meta, terms } of chunks) {
      const decided = decides(lookup, terms);
      if (decided === undefined) undecided++;
      else assert.equal(decided, fits([meta]), JSON.stringify({ condition, meta }));
    }
  }
  assert.ok(undecided < (chunks.length * SCALARS.length * 8) / 10, `${undecided} undecided`);
});

const layers: [string, Json, Json][] = [
  ['a path', {}, { a: { b: { c: 1 } } }],
  ['a key with dots goes before a path', {}, { 'a.b': 1, a: { b: 2, c: 3 } }],
  ["a key with dots of the chunk hides the document's path", { 'a.b': 1 }, { a: { b: { c: 2 } } }],
  ["and that of the document the chunk's path", { a: { b: 1 } }, { 'a.b': 2 }],
  ["the chunk's key hides the document's with all below", { a: 1 }, { a: { b: 2 } }],
  ['paths through lists', {}, { a: [{ b: 1 }, { b: [2, 3] }, [{ b: 4 }], 5, { b: { c: 6 } }] }],
  ['dots inside objects lead nowhere', {}, { a: { 'b.c': 1 }, x: [{ 'a.b': 1 }] }],
  ['empty keys', { '': { a: 1 } }, { a: { '': 2 }, '.a': 3, 'a.': null }],
  ['names that separators look like', { 'f\u0001s': 'x' }, { f: 'sx', 'f\u0000': 1, 'f\u0002': 2 }],
  [
    'keys that objects have by themselves',
    {},
    JSON.parse('{"__proto__": {"a": 1}, "constructor": "x", "a": {"__proto__": 2}}') as Json,
  ],
];

for (const [what, own, document] of layers) {
  test(`fields: ${what}`, () => {
    const terms = chunkFieldTerms(own, flattenLayer(document));
    assert.equal(new Set(terms).size, terms.length);
    const fields = [
      'a',
      'a.b',
      'a.b.c',
      'a.',
      '.a',
      '',
      'x.a.b',
      'f',
      'f\u0001s',
      'f\u0000',
      'f\u0002',
      '__proto__',
      '__proto__.a',
      'constructor',
      'a.__proto__',
      'toString',
      'a.b.',
    ];
    for (const field of fields) {
      for (const condition of [1, 2, 3, 4, 5, 6, 'x', 'sx', null].flatMap(conditionsOn)) {
        assert.equal(
          decides(lookupOf(field, condition), terms),
          compileFilter({ field, test: condition })([own, document]),
          JSON.stringify({ field, condition }),
        );
      }
    }
  });
}

test('chunks that are not listed: more terms than there may be, and what UTF-8 cannot write', () => {
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, i]));
  assert.deepEqual(chunkFieldTerms({}, flattenLayer(many)), [UNLISTED]);
  assert.deepEqual(chunkFieldTerms({ a: { '\ud800': 1 } }, flattenLayer({})), [UNLISTED]);
  assert.deepEqual(chunkFieldTerms({ a: ['x\ud800'] }, flattenLayer({})), [UNLISTED]);
  assert.equal(lookupOf('a', { op: 'in', values: ['\ud800'] }), undefined);
});
