// What to look for in an index of metadata (field-terms.ts) for one condition of a filter: the terms of the chunks that
// fit. Pure. Called by the shard workers once a condition.
import type { Comparison, FieldTest, Scalar } from '../contract/filter.js';
import { timeOf } from './compare-values.js';
import {
  behind,
  behindPrefix,
  isLong,
  isWritable,
  numberValue,
  sectionOf,
  textValue,
  type Section,
} from './field-encoding.js';
import { numberOfDecimal } from './scalar-set.js';

/** Terms from one on to before another, in the order of their bytes. */
interface TermRange {
  readonly from: string;
  readonly to: string;
  /** Only those that have this behind `from`; at their end where so said. */
  readonly piece?: string;
  readonly atEnd?: boolean;
}

/** A chunk fits that has any of the terms. */
export interface Lookup {
  readonly terms: readonly string[];
  readonly ranges: readonly TermRange[];
  /** So does a chunk that does not have this one. */
  readonly absent?: string;
  /** A chunk with this one has to be looked at itself. */
  readonly unsure?: string | undefined;
}

/** undefined where terms cannot tell. */
export function lookupOf(field: string, test: FieldTest): Lookup | undefined {
  if (!isWritable(field)) return undefined;
  if (test.op === 'exists') return { terms: [sectionOf(field, 'e')], ranges: [] };
  if (test.op === 'in') return equality(field, test.values);
  const operand = test.op === 'compare' ? test.value : test.text;
  if (typeof operand === 'number')
    return { terms: [], ranges: [...numbers(field, 'n', test), ...numbers(field, 'd', test)] };
  if (!isWritable(operand)) return undefined;
  const unsure = sectionOf(field, 'l');
  if (test.op === 'compare')
    return { terms: [], ranges: comparison(field, test.by, operand), unsure: isLong(operand) ? unsure : undefined };
  if (test.op === 'prefix')
    return {
      terms: [],
      ranges: (['s', 'i'] as const).map((section) => beginning(sectionOf(field, section) + textValue(operand))),
      unsure: isLong(operand) ? unsure : undefined,
    };
  // These three stand for others in terms, and could be found where they are not.
  if (/[\0\u0001\u0002]/.test(operand)) return undefined;
  return {
    terms: [],
    ranges: (['s', 'i'] as const).map((section) => ({
      ...beginning(sectionOf(field, section)),
      piece: operand,
      atEnd: test.op === 'suffix',
    })),
    unsure,
  };
}

/** As ScalarSet: numbers and booleans equal their texts, and null an absent field. */
function equality(field: string, values: readonly Scalar[]): Lookup | undefined {
  if (values.some((value) => typeof value === 'string' && !isWritable(value))) return undefined;
  const terms = new Set(values.flatMap((value) => equalTerms(field, value)));
  return { terms: [...terms], ranges: [], ...(values.includes(null) && { absent: sectionOf(field, 'e') }) };
}

function equalTerms(field: string, value: Scalar): string[] {
  if (value === null) return [sectionOf(field, 'z')];
  if (typeof value === 'boolean') return [sectionOf(field, 'b') + String(value), sectionOf(field, 's') + String(value)];
  if (typeof value === 'number')
    return [sectionOf(field, 'n') + numberValue(value), sectionOf(field, 'd') + numberValue(value)];
  const number = numberOfDecimal(value);
  const isBoolean = value === 'true' || value === 'false';
  return [
    sectionOf(field, timeOf(value) === undefined ? 's' : 'i') + textValue(value),
    ...(number === undefined ? [] : [sectionOf(field, 'n') + numberValue(number)]),
    ...(isBoolean ? [sectionOf(field, 'b') + value] : []),
  ];
}

/** As createComparison: times with times and other texts as texts; numbers with decimal forms. */
function comparison(field: string, by: Comparison, operand: string): TermRange[] {
  const timeMs = timeOf(operand);
  const number = numberOfDecimal(operand);
  const texts = compared(sectionOf(field, 's'), textValue(operand), by);
  if (timeMs !== undefined) return [texts, compared(sectionOf(field, 't'), numberValue(timeMs), by)];
  return [
    texts,
    compared(sectionOf(field, 'i'), textValue(operand), by),
    ...(number === undefined ? [] : [compared(sectionOf(field, 'n'), numberValue(number), by)]),
  ];
}

function numbers(field: string, section: Section, test: FieldTest): TermRange[] {
  return test.op === 'compare' && typeof test.value === 'number'
    ? [compared(sectionOf(field, section), numberValue(test.value), test.by)]
    : [];
}

function compared(section: string, value: string, by: Comparison): TermRange {
  const term = section + value;
  const edge = by === 'gte' || by === 'lt' ? term : behind(term);
  return by === 'gt' || by === 'gte' ? { from: edge, to: behindPrefix(section) } : { from: section, to: edge };
}

const beginning = (prefix: string): TermRange => ({ from: prefix, to: behindPrefix(prefix) });
