// Filter strings that are operators, where `search.string_operators` says so: `*`, `x*`, `*x`, `*x*`, `!x`, `>x`,
// `>=x`, `<x`, `<=x`, as in the server that clients come from. Pure; called by parse-filter.ts.
import type { Comparison, Filter } from '../contract/filter.js';

const COMPARISONS: readonly [string, Comparison][] = [
  ['>=', 'gte'],
  ['<=', 'lte'],
  ['>', 'gt'],
  ['<', 'lt'],
];
const DECIMAL = /^-?(\d+\.?\d*|\.\d+)$/;

/**
 * The condition a string stands for; undefined where it is none, and means itself. `!` turns round whatever follows it.
 */
export function stringOperator(field: string, value: string): Filter | undefined {
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
