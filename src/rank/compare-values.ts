// Order of a metadata value and the operand of $gt, $gte, $lt, $lte: as numbers, as times, or as strings. Pure.
// Used by match-filter.ts.
import type { Comparison } from '../contract/filter.js';
import { numberOfDecimal } from './scalar-set.js';

const ISO_TIME = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * A test of single values. A number compares with numbers and decimal texts, an ISO time with ISO times, other strings
 * with strings.
 */
export function createComparison(by: Comparison, operand: number | string): (value: unknown) => boolean {
  const orderOf = typeof operand === 'number' ? numberOrder(operand) : stringOrder(operand);
  const fits = {
    gt: (order: number) => order > 0,
    gte: (order: number) => order >= 0,
    lt: (order: number) => order < 0,
    lte: (order: number) => order <= 0,
  }[by];
  // An order of NaN says that the two do not compare, and fits nothing.
  return (value) => fits(orderOf(value));
}

const numberOrder =
  (operand: number) =>
  (value: unknown): number => {
    if (typeof value === 'number') return compareNumbers(value, operand);
    return typeof value === 'string' ? compareNumbers(numberOfDecimal(value) ?? NaN, operand) : NaN;
  };

/** Not their difference: a decimal form may be as large as Infinity. */
const compareNumbers = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : a === b ? 0 : NaN);

function stringOrder(operand: string): (value: unknown) => number {
  const timeMs = timeOf(operand);
  const number = numberOfDecimal(operand);
  return (value) => {
    if (typeof value === 'number') return number === undefined ? NaN : compareNumbers(value, number);
    if (typeof value !== 'string') return NaN;
    const valueMs = timeMs === undefined ? undefined : timeOf(value);
    if (timeMs !== undefined && valueMs !== undefined) return valueMs - timeMs;
    return compareTexts(value, operand);
  };
}

/** By code points, as the bytes of UTF-8 are ordered, so that an index can have the same order. */
function compareTexts(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at < end ? codePointOrder(a.charCodeAt(at)) - codePointOrder(b.charCodeAt(at)) : a.length - b.length;
}

/** Moves the halves of the pairs that make the highest code points behind all other units. */
const codePointOrder = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/**
 * Milliseconds of an ISO 8601 date or time; without a zone it is UTC, so that no answer depends on where the server
 * stands.
 */
export function timeOf(text: string): number | undefined {
  const match = ISO_TIME.exec(text);
  if (!match) return undefined;
  const zoned = match[1] === undefined || match[4] !== undefined ? text : `${text}Z`;
  const timeMs = Date.parse(zoned.replace(' ', 'T'));
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
