// Metadata filters: the parsed form, and the parser of the `filters` of a search body, which throws 422 with the
// location of an error. Pure.
import { invalidField } from './errors.js';
import { FILTER_CONDITIONS_MAX, FILTER_FIELD_CHARACTERS_MAX, FILTER_LEVELS_MAX, FILTER_VALUES_MAX } from './limits.js';
import { timeOf } from './numbers.js';

export type Scalar = string | number | boolean | null;
export type Comparison = 'gt' | 'gte' | 'lt' | 'lte';

/**
 * A parsed and validated metadata filter as plain data, with every shorthand expanded. `all` of an empty list matches
 * everything, `any` of an empty list nothing. A field is a top-level key, or a path of keys joined by dots.
 */
export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | { readonly field: string; readonly test: FieldTest };

/** A test of a field. It passes if any value of the field matches; `exists` passes if the field is present. */
export type FieldTest =
  | { readonly op: 'in'; readonly values: readonly Scalar[] }
  | { readonly op: 'compare'; readonly by: Comparison; readonly value: number | string }
  | { readonly op: 'prefix' | 'suffix' | 'contains'; readonly text: string }
  | { readonly op: 'time'; readonly by: Comparison; readonly timeMs: number }
  | Region
  | { readonly op: 'exists' };

/** A region of the Earth, in degrees: a circle, or a box, which goes over the antimeridian if `west` > `east`. */
export type Region =
  | { readonly op: 'near'; readonly lat: number; readonly lon: number; readonly radiusM: number }
  | {
      readonly op: 'box';
      readonly south: number;
      readonly west: number;
      readonly north: number;
      readonly east: number;
    };

/** Whether a filter matches everything because of its form, as `{}` does: it has no condition that could fail. */
export function isAlwaysTrue(filter: Filter): boolean {
  if ('all' in filter) return filter.all.every(isAlwaysTrue);
  if ('any' in filter) return filter.any.some(isAlwaysTrue);
  return 'not' in filter && isAlwaysFalse(filter.not);
}

function isAlwaysFalse(filter: Filter): boolean {
  if ('all' in filter) return filter.all.some(isAlwaysFalse);
  if ('any' in filter) return filter.any.every(isAlwaysFalse);
  if ('not' in filter) return isAlwaysTrue(filter.not);
  return filter.test.op === 'in' && filter.test.values.length === 0;
}

const COMPARISONS: readonly [string, Comparison][] = [
  ['>=', 'gte'],
  ['<=', 'lte'],
  ['>', 'gt'],
  ['<', 'lt'],
];
const DECIMAL = /^-?(\d+\.?\d*|\.\d+)$/;

/**
 * Parses a string operator, as in PaveDB, if `search.string_operators` is set: `*`, `x*`, `*x`, `*x*`, `!x`, `>x`,
 * `>=x`, `<x`, `<=x`. `!` negates what follows it. Returns undefined for a string that is not an operator and means
 * itself.
 */
function stringOperator(field: string, value: string): Filter | undefined {
  if (value.startsWith('!') && value.length > 1) {
    const rest = value.slice(1);
    return { not: stringOperator(field, rest) ?? { field, test: { op: 'in', values: [rest] } } };
  }
  const [sign, by] = COMPARISONS.find(([prefix]) => value.startsWith(prefix)) ?? [];
  const operand = value.slice(sign?.length ?? 0).trim();
  if (by && operand !== '')
    return { field, test: { op: 'compare', by, value: DECIMAL.test(operand) ? Number(operand) : operand } };
  return pattern(field, value);
}

function pattern(field: string, value: string): Filter | undefined {
  if (/^\*+$/.test(value)) return { field, test: { op: 'exists' } };
  const [open, close] = [value.startsWith('*'), value.endsWith('*')];
  const text = value.slice(open ? 1 : 0, close ? -1 : undefined);
  if (open && close) return { field, test: { op: 'contains', text } };
  if (open) return { field, test: { op: 'suffix', text } };
  return close ? { field, test: { op: 'prefix', text } } : undefined;
}

interface FilterOptions {
  /** Whether strings such as `!x`, `x*` and `>5` are operators. */
  stringOperators: boolean;
  /**
   * For filters whose JSON text is no longer available: whole numbers beyond 2^53 may have been rounded, and are
   * rejected.
   */
  safeNumbers?: boolean;
}

type Place = (string | number)[];

const SHOWN_CHARACTERS_MAX = 100;

/**
 * Parses `filters`. Throws 422 for an unknown operator, an operand of a wrong type, or more than the bounds in
 * api/limits.ts.
 */
export function parseFilter(
  raw: Readonly<Record<string, unknown>>,
  options: FilterOptions,
  at: Place = ['body', 'filters'],
): Filter {
  return new Parser(options).object(raw, at, 1);
}

class Parser {
  private conditions = 0;
  private values = 0;

  constructor(private readonly options: FilterOptions) {}

  object(raw: unknown, at: Place, level: number): Filter {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
      throw invalidField(at, 'Should be a filter object.', 'filter_type');
    if (level > FILTER_LEVELS_MAX)
      throw invalidField(at, `Filters may be nested at most ${FILTER_LEVELS_MAX} levels deep.`, 'filter_too_deep');
    const parts = Object.entries(raw).map(([key, value]) => this.entry(key, value, inside(at, key), level));
    return parts.length === 1 ? (parts[0] as Filter) : { all: parts };
  }

  private entry(key: string, value: unknown, at: Place, level: number): Filter {
    if (key === '$and') return { all: this.list(value, at, level) };
    if (key === '$or') return { any: this.list(value, at, level) };
    if (key === '$not') return { not: this.object(value, at, level + 1) };
    if (key.startsWith('$')) throw unknownOperator(at);
    return this.field(key, value, at);
  }

  private list(value: unknown, at: Place, level: number): Filter[] {
    if (!Array.isArray(value)) throw invalidField(at, 'Should be a list of filter objects.', 'list_type');
    if (value.length > FILTER_CONDITIONS_MAX) throw tooLarge(at);
    return value.map((item, i) => this.object(item, [...at, i], level + 1));
  }

  private field(field: string, value: unknown, at: Place): Filter {
    if (field.length > FILTER_FIELD_CHARACTERS_MAX)
      throw invalidField(
        at.slice(0, -1),
        `A field name may have at most ${FILTER_FIELD_CHARACTERS_MAX} characters.`,
        'too_long',
      );
    if (Array.isArray(value))
      return {
        any: this.shorthand(
          field,
          value.map((item, i) => this.scalar(item, [...at, i])),
          at,
        ),
      };
    if (typeof value !== 'object' || value === null)
      return { any: this.shorthand(field, [this.scalar(value, at)], at) };
    const operators = Object.entries(value);
    if (operators.length === 0)
      throw invalidField(at, 'Should be an object with at least one operator.', 'filter_empty');
    return {
      all: operators.map(([operator, operand]) => this.operator(field, operator, operand, inside(at, operator))),
    };
  }

  /** Expands plain values into an equality test for any of them; strings may be operators. */
  private shorthand(field: string, values: readonly Scalar[], at: Place): Filter[] {
    const operators = this.options.stringOperators
      ? values.map((value) => (typeof value === 'string' ? stringOperator(field, value) : undefined))
      : [];
    const plain = values.filter((_, i) => operators[i] === undefined);
    return [
      this.test(field, { op: 'in', values: plain }, at),
      ...operators.filter((operator) => operator !== undefined),
    ];
  }

  private operator(field: string, operator: string, operand: unknown, at: Place): Filter {
    const equals = (values: Scalar[]): Filter => this.test(field, { op: 'in', values }, at);
    switch (operator) {
      case '$eq':
        return equals([this.scalar(operand, at)]);
      case '$ne':
        return { not: equals([this.scalar(operand, at)]) };
      case '$in':
        return equals(this.scalars(operand, at));
      case '$nin':
        return { not: equals(this.scalars(operand, at)) };
      case '$gt':
      case '$gte':
      case '$lt':
      case '$lte':
        return this.test(
          field,
          { op: 'compare', by: operator.slice(1) as 'gt', value: this.safe(comparable(operand, at), at) },
          at,
        );
      case '$date':
        return { all: this.dates(field, operand, at) };
      case '$geo_radius':
        return this.test(field, circleOf(operand, at), at);
      case '$geo_box':
        return this.test(field, boxOf(operand, at), at);
      case '$prefix':
        if (typeof operand !== 'string') throw invalidField(at, 'Should be a string.', 'string_type');
        return this.test(field, { op: 'prefix', text: operand }, at);
      case '$exists':
        if (typeof operand !== 'boolean') throw invalidField(at, 'Should be true or false.', 'boolean_type');
        return operand ? this.test(field, { op: 'exists' }, at) : { not: this.test(field, { op: 'exists' }, at) };
      default:
        throw unknownOperator(at);
    }
  }

  private dates(field: string, operand: unknown, at: Place): Filter[] {
    return Object.entries(objectOf(operand, at)).map(([key, value]) => {
      const by = COMPARED.find((comparison) => `$${comparison}` === key);
      if (by === undefined) throw unknownOperator(inside(at, key));
      return this.test(field, { op: 'time', by, timeMs: dateOf(value, inside(at, key)) }, at);
    });
  }

  private test(field: string, test: FieldTest, at: Place): Filter {
    if (++this.conditions > FILTER_CONDITIONS_MAX) throw tooLarge(at);
    return { field, test };
  }

  private scalars(value: unknown, at: Place): Scalar[] {
    if (!Array.isArray(value)) throw invalidField(at, 'Should be a list of values.', 'list_type');
    return value.map((item, i) => this.scalar(item, [...at, i]));
  }

  private scalar(value: unknown, at: Place): Scalar {
    if (++this.values > FILTER_VALUES_MAX) throw tooLarge(at);
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return this.safe(value, at);
    throw invalidField(at, 'Should be a string, a number, true, false or null.', 'scalar_type');
  }

  private safe<T extends Scalar>(value: T, at: Place): T {
    const isLong = typeof value === 'number' && !Number.isSafeInteger(value) && !(value % 1);
    if (this.options.safeNumbers && isLong)
      throw invalidField(at, 'Send a number beyond 2^53 as a string.', 'number_not_exact');
    return value;
  }
}

/** Appends a key to a location. Long keys are cut, so that an error is not as large as the request that caused it. */
const inside = (at: Place, key: string): Place => [...at, key.slice(0, SHOWN_CHARACTERS_MAX)];

function comparable(operand: unknown, at: Place): number | string {
  if (typeof operand === 'number' || typeof operand === 'string') return operand;
  throw invalidField(at, 'Should be a number or a string.', 'comparable_type');
}

const COMPARED: readonly Comparison[] = ['gt', 'gte', 'lt', 'lte'];

function dateOf(value: unknown, at: Place): number {
  const timeMs = typeof value === 'string' ? timeOf(value) : undefined;
  if (timeMs !== undefined && isDay((value as string).slice(0, 10))) return timeMs;
  throw invalidField(
    at,
    'Should be an ISO 8601 date or time, such as 2026-11-25 or 2026-11-25T12:00:00Z.',
    'date_type',
  );
}

/** Whether the month has that day: in JavaScript 30 February is in March. */
const isDay = (day: string): boolean => new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);

function objectOf(operand: unknown, at: Place): Readonly<Record<string, unknown>> {
  if (typeof operand === 'object' && operand !== null && !Array.isArray(operand) && Object.keys(operand).length > 0)
    return operand as Readonly<Record<string, unknown>>;
  throw invalidField(at, 'Should be an object with at least one field.', 'object_type');
}

/** Reads the numbers of a region, each within its bounds, and no other fields. */
function numbersOf<K extends string>(
  operand: unknown,
  bounds: Readonly<Record<K, readonly [least: number, most: number]>>,
  at: Place,
): Record<K, number> {
  const given = objectOf(operand, at);
  const names = Object.keys(bounds) as K[];
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(bounds, key));
  if (unknown !== undefined)
    throw invalidField(
      inside(at, unknown),
      `There is no such field. The fields are ${names.join(', ')}.`,
      'extra_forbidden',
    );
  for (const name of names) {
    const value = given[name];
    const [least, most] = bounds[name];
    if (typeof value !== 'number' || !(value >= least && value <= most))
      throw invalidField(inside(at, name), `Should be a number from ${least} to ${most}.`, 'number_type');
  }
  return given as Record<K, number>;
}

const LAT = [-90, 90] as const;
const LON = [-180, 180] as const;
/** Half of the circumference of the Earth: every point is nearer. */
const RADIUS_M_MAX = 20_040_000;
const CIRCLE = { lat: LAT, lon: LON, radius_m: [0, RADIUS_M_MAX] } as const;

function circleOf(operand: unknown, at: Place): Extract<Region, { op: 'near' }> {
  const { lat, lon, radius_m: radiusM } = numbersOf(operand, CIRCLE, at);
  return { op: 'near', lat, lon: lon === 180 ? -180 : lon, radiusM };
}

function boxOf(operand: unknown, at: Place): Extract<Region, { op: 'box' }> {
  const { south, west, north, east } = numbersOf(operand, { south: LAT, west: LON, north: LAT, east: LON }, at);
  if (south > north) throw invalidField(inside(at, 'south'), '`south` should be at most `north`.', 'less_than_equal');
  return { op: 'box', south, west, north, east };
}

const unknownOperator = (at: Place): Error => invalidField(at, 'There is no such operator.', 'unknown_operator');

const tooLarge = (at: Place): Error =>
  invalidField(
    at,
    `Filters may have at most ${FILTER_CONDITIONS_MAX} conditions and ${FILTER_VALUES_MAX} values.`,
    'filter_too_large',
  );
