// Order of a metadata value and the operand of $gt, $gte, $lt, $lte: as numbers, as times, or as strings. Pure.
// Used by match-filter.ts.
import type { Comparison } from '../contract/filter.js';
import { numberOfDecimal } from './scalar-set.js';

const ISO_TIME = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** A test of single values. A number compares with numbers and decimal texts, an ISO time with ISO times, other strings with strings. */
export function createComparison(by: Comparison, operand: number | string): (value: unknown) => boolean {
  const orderOf = typeof operand === 'number' ? numberOrder(operand) : stringOrder(operand);
  const fits = { gt: (order: number) => order > 0, gte: (order: number) => order >= 0, lt: (order: number) => order < 0, lte: (order: number) => order <= 0 }[by];
  // An order of NaN says that the two do not compare, and fits nothing.
  return (value) => fits(orderOf(value));
}

const numberOrder = (operand: number) => (value: unknown): number => {
  if (typeof value === 'number') return value - operand;
  return typeof value === 'string' ? (numberOfDecimal(value) ?? NaN) - operand : NaN;
};

function stringOrder(operand: string): (value: unknown) => number {
  const timeMs = timeOf(operand);
  const number = numberOfDecimal(operand);
  return (value) => {
    if (typeof value === 'number') return number === undefined ? NaN : value - number;
    if (typeof value !== 'string') return NaN;
    const valueMs = timeMs === undefined ? undefined : timeOf(value);
    if (timeMs !== undefined && valueMs !== undefined) return valueMs - timeMs;
    return value < operand ? -1 : value > operand ? 1 : 0;
  };
}

/** Milliseconds of an ISO 8601 date or time; without a zone it is UTC, so that no answer depends on where the server stands. */
function timeOf(text: string): number | undefined {
  const match = ISO_TIME.exec(text);
  if (!match) return undefined;
  const zoned = match[1] === undefined || match[4] !== undefined ? text : `${text}Z`;
  const timeMs = Date.parse(zoned.replace(' ', 'T'));
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
