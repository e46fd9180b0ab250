// The semantics of metadata filters: a parsed filter is compiled once a search into closures, which are evaluated on
// the metadata of one chunk. Pure functions.
import type { Comparison, FieldTest, Filter, Region, Scalar } from '../../api/filter.js';
import { timeOf } from '../../api/numbers.js';
import { compareUtf8 } from '../../base/bytes.js';
import { isInRegion, pointOf } from './geo.js';

const DECIMAL = /^-?(0|[1-9]\d*)(\.\d+)?$/;

/** The number of which a text is the decimal form; undefined for any other text. */
export function numberOfDecimal(text: string): number | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const value = Number(text);
  // Above 2^53 different integers convert to the same number, so only the exact digits are accepted.
  return Number.isInteger(value) && !Number.isSafeInteger(value) && String(value) !== text ? undefined : value;
}

/**
 * Equality of a metadata value with any of a filter's values. Values are compared by value, and numbers and booleans
 * also equal their text, because the columns of a CSV file are text.
 */
class ScalarSet {
  /** A null in the filter also matches an absent field. */
  readonly hasNull: boolean;
  private readonly strings: Set<string>;
  private readonly numbers: Set<number>;
  private readonly booleans: Set<boolean>;
  /** The values of those strings that are decimal forms. */
  private readonly numbersAsText: Set<number>;

  constructor(values: readonly Scalar[]) {
    this.hasNull = values.includes(null);
    this.strings = new Set(values.filter((value) => typeof value === 'string'));
    this.numbers = new Set(values.filter((value) => typeof value === 'number'));
    this.booleans = new Set(values.filter((value) => typeof value === 'boolean'));
    this.numbersAsText = new Set([...this.strings].map(numberOfDecimal).filter((value) => value !== undefined));
  }

  has(value: unknown): boolean {
    if (typeof value === 'string') return this.strings.has(value) || this.hasTextOf(value);
    if (typeof value === 'number') return this.numbers.has(value) || this.numbersAsText.has(value);
    if (typeof value === 'boolean') return this.booleans.has(value) || this.strings.has(String(value));
    return value === null && this.hasNull;
  }

  private hasTextOf(text: string): boolean {
    if (text === 'true' || text === 'false') return this.booleans.has(text === 'true');
    const number = this.numbers.size > 0 ? numberOfDecimal(text) : undefined;
    return number !== undefined && this.numbers.has(number);
  }
}

/** Whether a comparison holds, by the sign of the order of value and operand. */
const ORDERS: Readonly<Record<Comparison, (order: number) => boolean>> = {
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
};

/**
 * A test of single values for $gt, $gte, $lt and $lte. A number compares with numbers and decimal texts, an ISO time
 * with ISO times, another string with strings.
 */
function createComparison(by: Comparison, operand: number | string): (value: unknown) => boolean {
  const orderOf = typeof operand === 'number' ? numberOrder(operand) : stringOrder(operand);
  const fits = ORDERS[by];
  // NaN means that the values are not comparable, and no comparison holds for it.
  return (value) => fits(orderOf(value));
}

const numberOrder =
  (operand: number) =>
  (value: unknown): number => {
    if (typeof value === 'number') return compareNumbers(value, operand);
    return typeof value === 'string' ? compareNumbers(numberOfDecimal(value) ?? NaN, operand) : NaN;
  };

/** Compares without subtraction, because a decimal form may be as large as Infinity. */
const compareNumbers = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : a === b ? 0 : NaN);

function stringOrder(operand: string): (value: unknown) => number {
  const timeMs = timeOf(operand);
  const number = numberOfDecimal(operand);
  return (value) => {
    if (typeof value === 'number') return number === undefined ? NaN : compareNumbers(value, number);
    if (typeof value !== 'string') return NaN;
    const valueMs = timeMs === undefined ? undefined : timeOf(value);
    if (timeMs !== undefined && valueMs !== undefined) return valueMs - timeMs;
    return compareUtf8(value, operand);
  };
}

/**
 * Metadata in layers; a key of an earlier layer hides the same key of a later one. The layers of a hit are chunk, then
 * document.
 */
export type MetaLayers = readonly Readonly<Record<string, unknown>>[];
export type MetaTest = (meta: MetaLayers) => boolean;

/** Compiles a filter into a test of metadata. */
export function compileFilter(filter: Filter): MetaTest {
  if ('all' in filter) {
    const tests = filter.all.map(compileFilter);
    return (meta) => tests.every((test) => test(meta));
  }
  if ('any' in filter) {
    const tests = filter.any.map(compileFilter);
    return (meta) => tests.some((test) => test(meta));
  }
  if ('not' in filter) {
    const test = compileFilter(filter.not);
    return (meta) => !test(meta);
  }
  const read = fieldReader(filter.field);
  const fits = compileTest(filter.test);
  return (meta) => fits(read(meta));
}

/** `value` is undefined if the field is absent. A list matches if any of its elements does. */
function compileTest(test: FieldTest): (value: unknown) => boolean {
  if (test.op === 'exists') return (value) => value !== undefined;
  if (test.op === 'in') {
    const set = new ScalarSet(test.values);
    return (value) => (value === undefined ? set.hasNull : anyOf(value, (one) => set.has(one)));
  }
  const fits = testOfOne(test);
  return (value) => anyOf(value, fits);
}

function testOfOne(test: Exclude<FieldTest, { op: 'exists' | 'in' }>): (value: unknown) => boolean {
  if (test.op === 'compare') return createComparison(test.by, test.value);
  if (test.op === 'time') return timeTest(test.by, test.timeMs);
  if (test.op === 'near' || test.op === 'box') return regionTest(test);
  return textTest(test.op, test.text);
}

/** A test for $date: nothing but ISO dates and times fits. */
function timeTest(by: Comparison, operandMs: number): (value: unknown) => boolean {
  const fits = ORDERS[by];
  return (value) => {
    const timeMs = typeof value === 'string' ? timeOf(value) : undefined;
    return timeMs !== undefined && fits(timeMs - operandMs);
  };
}

function regionTest(region: Region): (value: unknown) => boolean {
  return (value) => {
    const point = pointOf(value);
    return point !== undefined && isInRegion(region, point);
  };
}

function textTest(op: 'prefix' | 'suffix' | 'contains', text: string): (value: unknown) => boolean {
  const method = ({ prefix: 'startsWith', suffix: 'endsWith', contains: 'includes' } as const)[op];
  return (value) => typeof value === 'string' && value[method](text);
}

const anyOf = (value: unknown, fits: (one: unknown) => boolean): boolean =>
  Array.isArray(value) ? value.some(fits) : fits(value);

/**
 * Returns a reader of one field: the literal key if it exists, otherwise the path that its dots form. Through a list of
 * objects the reader collects the values of all of them.
 */
export function fieldReader(field: string): (meta: MetaLayers) => unknown {
  const [top, ...path] = field.split('.') as [string, ...string[]];
  return (meta) => {
    const literal = valueIn(meta, field);
    return literal !== undefined || path.length === 0 ? literal : descend(valueIn(meta, top), path);
  };
}

function valueIn(meta: MetaLayers, key: string): unknown {
  for (const layer of meta) if (Object.hasOwn(layer, key)) return layer[key];
  return undefined;
}

function descend(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(value)) {
    const found = value
      .map((one: unknown) => (Array.isArray(one) ? undefined : descend(one, path)))
      .filter((one) => one !== undefined);
    return found.length === 0 ? undefined : found.flat();
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return descend((value as Record<string, unknown>)[key], rest);
}
