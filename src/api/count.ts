// Counts of chunks and of the values of their metadata (facets): bodies and route.
import typia, { type tags } from 'typia';
import {
  type FACETS_MAX,
  type FACET_RANGES_MAX,
  FACET_SIZE_DEFAULT,
  type FACET_SIZE_MAX,
  FACET_VALUES_MAX,
} from './limits.js';
import { COLLECTION, jsonRoute, routes } from './route.js';
import type { ContentFilter, WordOptions } from './search.js';

/** Name of a metadata field, or a path of names with dots. */
type Field = string & tags.MinLength<1> & tags.MaxLength<512>;

/** A number, or an ISO 8601 date or time. */
type Bound = number | string;

/** Values from `from` (inclusive) to `to` (exclusive). At least one is given, and both are of one kind. */
export interface RangeBody {
  from?: Bound | null;
  to?: Bound | null;
}

/** A field whose values are counted. */
export interface FacetBody {
  field: Field;
  /** Maximum number of values to return, the most frequent first. Default: 10. */
  size?: (number & tags.Type<'uint32'> & tags.Maximum<typeof FACET_SIZE_MAX>) | null;
  /** Ranges of numbers or times whose chunks are counted. */
  ranges?: (RangeBody[] & tags.MaxItems<typeof FACET_RANGES_MAX>) | null;
}

type Nullable<T> = { [Name in keyof T]?: T[Name] | null };

/** What to count. All fields are optional, and so is the body. */
export interface CountBody extends Nullable<WordOptions> {
  /** Only chunks that have any word of this text count. */
  q?: (string & tags.MinLength<1>) | null;
  /** Metadata filters, as in a search. */
  filters?: Record<string, unknown> | null;
  content_filter?: ContentFilter | null;
  /** Fields whose values are counted among the matching chunks: names, or objects with settings. */
  facets?: ((Field | FacetBody)[] & tags.MaxItems<typeof FACETS_MAX>) | null;
}

export interface FacetValue {
  value: string | number | boolean | null;
  /** Number of chunks that have the value. A chunk with a list counts for each of its values. */
  count: number;
}

export interface FacetRange {
  from?: Bound;
  to?: Bound;
  /** Number of chunks that have a value in the range. */
  count: number;
}

export interface Facet {
  field: string;
  /** The most frequent values first, equal counts in the order of the values. */
  values: FacetValue[];
  /** Number of different values, including those that are not returned. */
  distinct: number;
  /** Number of matching chunks without the field. */
  missing: number;
  /** The smallest number, or ISO time if the field has no numbers. Absent if it has neither. Likewise `max`. */
  min?: Bound;
  max?: Bound;
  /** In the order of the request; absent if none were requested. */
  ranges?: FacetRange[];
}

export interface CountAnswer {
  tenant: string;
  collection: string;
  /** Number of matching chunks. */
  count: number;
  /** In the order of the request. */
  facets: Facet[];
}

export const COUNT_ROUTES = routes({
  countChunks: jsonRoute({
    method: 'POST',
    path: `${COLLECTION}/count`,
    access: 'tenant',
    scope: 'search',
    tag: 'Search',
    summary: 'Count matching chunks and the values of their metadata (facets)',
    description: `Counts exactly, by the metadata index: all chunks that match \`filters\`, \`content_filter\` and \`q\` (whose words match by the word options as in mode hybrid), and for each field of \`facets\` the chunks with each of its values. Texts that are decimal numbers or ISO times also count as such in \`ranges\`, \`min\` and \`max\`. A field with more than ${FACET_VALUES_MAX} values among the indexed chunks is refused. The default \`size\` is ${FACET_SIZE_DEFAULT}.`,
    body: {
      check: typia.createValidateEquals<CountBody>(),
      schema: typia.json.schema<CountBody>(),
      required: false,
      orNothing: true,
      examples: {
        all: {},
        facets: {
          q: 'wind turbines',
          filters: { lang: 'en' },
          facets: ['author', { field: 'year', size: 3, ranges: [{ from: 2020 }, { from: 2010, to: 2020 }] }],
        },
      },
    },
    answer: {
      schema: typia.json.schema<CountAnswer>(),
      example: {
        tenant: 'acme',
        collection: 'docs',
        count: 42,
        facets: [
          {
            field: 'year',
            values: [
              { value: 2021, count: 30 },
              { value: 2019, count: 10 },
            ],
            distinct: 2,
            missing: 2,
            min: 2019,
            max: 2021,
            ranges: [{ from: 2020, count: 30 }],
          },
        ],
      },
    },
    codes: ['collection_not_found', 'shard_unavailable', 'search_failed'],
  }),
});
