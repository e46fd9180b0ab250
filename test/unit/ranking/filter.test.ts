// Metadata filters: what they mean, and which are rejected.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import { fieldsOf } from '../../../src/service/search/query.js';
import { compileFilter } from '../../../src/engine/filter/match.js';
import { parseFilter } from '../../../src/api/filter.js';

type Raw = Record<string, unknown>;

const fits = (filters: Raw, meta: Raw, stringOperators = false): boolean =>
  compileFilter(parseFilter(filters, { stringOperators }))([meta]);

const META: Raw = {
  lang: 'de',
  year: 1999,
  price: '7.50',
  row: '5',
  on: true,
  off: 'false',
  none: null,
  tags: ['a', 'b', 3],
  empty: [],
  seen: '2024-05-01',
  at: '2024-05-01T10:00:00+02:00',
  author: { name: 'Verne', born: { year: 1828 }, house: { lat: 47.218, lon: -1.554 } },
  'author.lang': 'fr',
  people: [{ name: 'Nemo' }, { name: 'Ned' }],
  zip: '01234',
  big: '9007199254740993',
  $odd: 1,
};

const DATE: Raw = { $date: { $gte: '2024-05-01T10:00:00+02:00', $lt: '2024-05-02' } };

const truths: [string, Raw, boolean][] = [
  ['a string', { lang: 'de' }, true],
  ['strings keep their case', { lang: 'DE' }, false],
  ['two fields are ANDed', { lang: 'de', year: 2000 }, false],
  ['a number', { year: 1999.0 }, true],
  ['a number and its decimal form', { row: 5 }, true],
  ['a decimal form and its number', { year: '1999' }, true],
  ['trailing zeros are the same number', { price: 7.5 }, true],
  ['strings as strings', { price: '7.5' }, false],
  ['a leading zero is no decimal form', { zip: 1234 }, false],
  ['integers beyond 2^53 by their digits', { big: 9007199254740992 }, false],
  ['true and "true"', { on: 'true' }, true],
  ['"false" and false', { off: false }, true],
  ['true is not 1', { on: 1 }, false],
  ['any of a list', { lang: ['en', 'de'] }, true],
  ['none of a list', { lang: ['en', 'fr'] }, false],
  ['an empty list', { lang: [] }, false],
  ['list-valued metadata', { tags: 'b' }, true],
  ['a number in list-valued metadata', { tags: ['x', '3'] }, true],
  ['not in list-valued metadata', { tags: 'c' }, false],
  ['null: null', { none: null }, true],
  ['null: absent', { nothing: null }, true],
  ['null: present', { lang: null }, false],
  ['null in a list of values', { nothing: ['x', null] }, true],
  ['an absent field', { nothing: 'x' }, false],
  ['an empty list in metadata', { empty: 'x' }, false],
  ['a path', { 'author.name': 'Verne' }, true],
  ['a deeper path', { 'author.born.year': { $lt: 1900 } }, true],
  ['a literal key with a dot', { 'author.lang': 'fr' }, true],
  ['a path through a list', { 'people.name': 'Ned' }, true],
  ['a path that ends early', { 'author.name.x': 'Verne' }, false],
  ['an inherited property is no metadata', { constructor: { $exists: true } }, false],
  ['an object is no value', { author: '[object Object]' }, false],
  ['$eq', { year: { $eq: '1999' } }, true],
  ['$eq null', { nothing: { $eq: null } }, true],
  ['$ne', { lang: { $ne: 'en' } }, true],
  ['$ne of what is there', { tags: { $ne: 'a' } }, false],
  ['$ne of an absent field', { nothing: { $ne: 'a' } }, true],
  ['$gt and $lte', { year: { $gt: 1998, $lte: 1999 } }, true],
  ['$gt of the same', { year: { $gt: 1999 } }, false],
  ['$gte on a decimal text', { price: { $gte: 7.5 } }, true],
  ['$lt between number and text', { year: { $lt: '2000' } }, true],
  ['$gt on strings', { lang: { $gt: 'da' } }, true],
  ['$gt on other text', { lang: { $gt: 5 } }, false],
  ['$gt on an absent field', { nothing: { $gt: 0 } }, false],
  ['$gt on null', { none: { $lt: 1 } }, false],
  ['$gt in a list', { tags: { $gt: 2 } }, true],
  ['dates', { seen: { $gte: '2024-05-01', $lt: '2024-05-02' } }, true],
  [
    'times in other zones',
    { at: { $eq: '2024-05-01T10:00:00+02:00', $lt: '2024-05-01T08:00:01Z', $gte: '2024-05-01T08:00:00Z' } },
    true,
  ],
  ['a time without zone is UTC', { at: { $gte: '2024-05-01T08:00:00', $lte: '2024-05-01 08:00' } }, true],
  ['$date compares instants', { at: DATE }, true],
  ['$date of an earlier day', { seen: DATE }, false],
  ['$date compares with no other text', { lang: { $date: { $lt: '9999-01-01' } } }, false],
  ['$date compares with no number', { year: { $date: { $gte: '0001-01-01' } } }, false],
  ['a place in a radius', { 'author.house': { $geo_radius: { lat: 47, lon: -1, radius_m: 100_000 } } }, true],
  ['a place out of it', { 'author.house': { $geo_radius: { lat: 47, lon: -1, radius_m: 10_000 } } }, false],
  ['a place in a box', { 'author.house': { $geo_box: { south: 47, west: -2, north: 48, east: 0 } } }, true],
  ['a text in no box', { lang: { $geo_box: { south: -90, west: -180, north: 90, east: 180 } } }, false],
  ['$in', { year: { $in: [1, '1999'] } }, true],
  ['$in of nothing', { year: { $in: [] } }, false],
  ['$nin', { lang: { $nin: ['en', 'fr'] } }, true],
  ['$nin of nothing', { nothing: { $nin: [] } }, true],
  ['$exists', { lang: { $exists: true }, nothing: { $exists: false } }, true],
  ['$exists of null', { none: { $exists: true } }, true],
  ['$prefix', { lang: { $prefix: 'd' } }, true],
  ['$prefix keeps case', { lang: { $prefix: 'D' } }, false],
  ['$prefix on a number', { year: { $prefix: '19' } }, false],
  ['$or', { $or: [{ lang: 'en' }, { year: 1999 }] }, true],
  ['$or of nothing', { $or: [] }, false],
  ['$and', { $and: [{ lang: 'de' }, { year: 1999 }], on: true }, true],
  ['$not', { $not: { lang: 'de' } }, false],
  ['$not over $or in $and', { $and: [{ $not: { $or: [{ lang: 'en' }, { year: 1 }] } }] }, true],
  ['no filter', {}, true],
  ['strings are no operators by default', { lang: '*' }, false],
];
for (const [what, filters, expected] of truths) {
  test(`filter: ${what}`, () => assert.equal(fits(filters, META), expected));
}

const operators: [string, string, boolean][] = [
  ['lang', '*', true],
  ['nothing', '*', false],
  ['lang', 'd*', true],
  ['lang', '*e', true],
  ['lang', '*D*', false],
  ['tags', '*b*', true],
  ['lang', '!en', true],
  ['lang', '!de', false],
  ['lang', '!d*', false],
  ['year', '>1998', true],
  ['year', '>=1999', true],
  ['year', '<1999', false],
  ['price', '<= 8', true],
  ['seen', '>=2024-05-01', true],
  ['seen', '<2024-05-01', false],
  ['lang', 'de', true],
  ['lang', '!', false],
];
for (const [field, value, expected] of operators) {
  test(`string operator ${field}: ${value}`, () => assert.equal(fits({ [field]: value }, META, true), expected));
}

test('with string operators a list is any of them, and $eq stays literal', () => {
  assert.equal(fits({ lang: ['x*', '*e', 'y'] }, META, true), true);
  assert.equal(fits({ lang: ['x*', '!de'] }, META, true), false);
  assert.equal(fits({ lang: { $eq: '*' } }, META, true), false);
  assert.equal(fits({ lang: { $eq: '*' } }, { lang: '*' }, true), true);
});

test('an earlier layer hides a later one', () => {
  const test = compileFilter(parseFilter({ offset: 5 }, { stringOperators: false }));
  assert.deepEqual(
    [test([{ offset: 5 }, { offset: 1 }]), test([{ offset: 1 }, { offset: 5 }]), test([{}, { offset: 5 }])],
    [true, false, true],
  );
});

const nested = (levels: number): Raw => (levels === 1 ? { a: 1 } : { $not: nested(levels - 1) });
const rejections: [string, Raw, (string | number)[], string][] = [
  ['an unknown operator', { a: { $regex: 'x' } }, ['a', '$regex'], 'unknown_operator'],
  ['an operator without a dollar', { a: { gt: 1 } }, ['a', 'gt'], 'unknown_operator'],
  ['an unknown operator at the top', { $nor: [] }, ['$nor'], 'unknown_operator'],
  ['no operator', { a: {} }, ['a'], 'filter_empty'],
  ['an object in a list', { a: [{ $gt: 1 }] }, ['a', 0], 'scalar_type'],
  ['$or of an object', { $or: { a: 1 } }, ['$or'], 'list_type'],
  ['$and of a value', { $and: [{ a: 1 }, 5] }, ['$and', 1], 'filter_type'],
  ['$not of a list', { $not: [] }, ['$not'], 'filter_type'],
  ['$in of a value', { a: { $in: 1 } }, ['a', '$in'], 'list_type'],
  ['$gt of a boolean', { a: { $gt: true } }, ['a', '$gt'], 'comparable_type'],
  ['$exists of a text', { a: { $exists: 'yes' } }, ['a', '$exists'], 'boolean_type'],
  ['$prefix of a number', { a: { $prefix: 1 } }, ['a', '$prefix'], 'string_type'],
  ['$eq of a list', { a: { $eq: [1] } }, ['a', '$eq'], 'scalar_type'],
  ['too many levels', nested(9), Array.from({ length: 8 }, () => '$not'), 'filter_too_deep'],
  [
    'too many conditions',
    Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`k${i}`, 1])),
    ['k256'],
    'filter_too_large',
  ],
  ['too many values', { a: Array.from({ length: 10_001 }, (_, i) => i) }, ['a', 10_000], 'filter_too_large'],
  [
    'a long operator, told back cut',
    { a: { [`$${'x'.repeat(1e6)}`]: 1 } },
    ['a', `$${'x'.repeat(99)}`],
    'unknown_operator',
  ],
  ['a long field name', { ['x'.repeat(513)]: 1 }, [], 'too_long'],
];
for (const [what, filters, place, type] of rejections) {
  test(`refused: ${what}`, () => {
    assert.throws(
      () => parseFilter(filters, { stringOperators: false }),
      (error: unknown) => {
        assert.ok(error instanceof AppError);
        assert.deepEqual(
          [error.code, error.options.detail?.[0]?.loc, error.options.detail?.[0]?.type],
          ['validation_error', ['body', 'filters', ...place], type],
        );
        return true;
      },
    );
  });
}

test('the bounds themselves are served', () => {
  assert.equal(fits(nested(8), { a: 2 }), true);
  assert.equal(fits({ a: Array.from({ length: 10_000 }, (_, i) => i) }, { a: 9999 }), true);
});

test('the fields of a filter, each once', () => {
  const filter = parseFilter(
    { b: 1, $or: [{ a: 2 }, { b: { $gt: 1, $lt: 5 } }], $not: { c: null } },
    { stringOperators: false },
  );
  assert.deepEqual(fieldsOf(filter), ['b', 'a', 'c']);
});
