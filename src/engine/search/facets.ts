// Counts of chunks and of the values of their metadata, as messages, and the sum of those of several nodes. Pure; any
// thread.
import type { FacetRange, FacetValue } from '../../api/count.js';
import { invalidField } from '../../api/errors.js';
import { FACET_VALUES_MAX } from '../../api/limits.js';
import { valueTerm } from '../filter/field-terms.js';

/** A field whose values are counted. */
export interface FacetWish {
  readonly field: string;
  /** Number of values to return, the most frequent first. */
  readonly size: number;
  readonly ranges: readonly RangeWish[];
}

/** Values from `from` (inclusive) to `to` (exclusive): numbers, or times in milliseconds. */
export interface RangeWish {
  readonly by: 'number' | 'time';
  readonly from?: number;
  readonly to?: number;
}

export interface CountedFacet {
  readonly values: FacetValue[];
  readonly distinct: number;
  readonly missing: number;
  readonly min?: FacetRange['from'];
  readonly max?: FacetRange['from'];
  readonly ranges: number[];
}

export interface Counted {
  readonly chunks: number;
  readonly facets: CountedFacet[];
}

export const tooManyValues = (field: string): Error =>
  invalidField(
    ['body', 'facets'],
    `The field ${field} has more than ${FACET_VALUES_MAX} values; count by \`ranges\` of it, or restrict the chunks by \`filters\`.`,
    'too_many_values',
  );

/** The sum of the counts of some shards and of others, each with all values of its facets. */
export function sumCounted(counts: readonly Counted[], facets: readonly FacetWish[]): Counted {
  return {
    chunks: counts.reduce((sum, { chunks }) => sum + chunks, 0),
    facets: facets.map((wish, i) =>
      sumFacet(
        counts.flatMap(({ facets: own }) => own[i] ?? []),
        wish,
      ),
    ),
  };
}

function sumFacet(counts: readonly CountedFacet[], { field, size, ranges }: FacetWish): CountedFacet {
  const byTerm = new Map<string, FacetValue>();
  for (const { value, count } of counts.flatMap(({ values }) => values)) {
    const term = valueTerm(field, value) ?? '';
    byTerm.set(term, { value, count: (byTerm.get(term)?.count ?? 0) + count });
  }
  if (byTerm.size > FACET_VALUES_MAX) throw tooManyValues(field);
  const values = [...byTerm].sort(([a, { count: n }], [b, { count: m }]) => m - n || (a < b ? -1 : 1));
  return {
    values: values.slice(0, size).map(([, value]) => value),
    distinct: byTerm.size,
    missing: counts.reduce((sum, { missing }) => sum + missing, 0),
    ...extremesOf(counts),
    ranges: ranges.map((_, i) => counts.reduce((sum, { ranges: own }) => sum + (own[i] ?? 0), 0)),
  };
}

/** Numbers if there are any, else times. */
function extremesOf(counts: readonly CountedFacet[]): Pick<CountedFacet, 'min' | 'max'> {
  const ends = counts.flatMap(({ min, max }) => (min === undefined || max === undefined ? [] : [min, max]));
  const numbers = ends.filter((end) => typeof end === 'number');
  if (numbers.length > 0) return { min: Math.min(...numbers), max: Math.max(...numbers) };
  const times = ends.map((end) => Date.parse(String(end)));
  if (times.length === 0) return {};
  return { min: new Date(Math.min(...times)).toISOString(), max: new Date(Math.max(...times)).toISOString() };
}
