// What stands in the operations tables of areas whose routes have no definitions yet.
import { SEARCH_MODES } from '../../api/choices.js';
import {
  K_DEFAULT,
  K_MAX,
  QUERIES_PAGE_DEFAULT,
  QUERIES_PAGE_MAX,
  VECTOR_SAMPLE_DEFAULT,
  VECTOR_SAMPLE_MAX,
} from '../../api/limits.js';
import { CURSOR } from '../../api/parameters.js';
import type { Parameter, RouteDefinition, Schema } from '../../api/route.js';
import { type Answers, type Requests, SEARCH_TEXT, refTo } from './schemas.js';

export { PAGE } from '../../api/parameters.js';
export { otherContent } from '../../api/route.js';
export type { Parameter };

export type Operation = Pick<
  RouteDefinition,
  'tag' | 'summary' | 'description' | 'query' | 'request' | 'answer' | 'empty' | 'foreignRefusals' | 'codes'
>;

type Json<T> = {
  readonly 'application/json': { readonly schema: Schema; readonly examples: Readonly<Record<string, T>> };
};

export function jsonRequest<N extends keyof Requests>(
  type: N,
  examples: Readonly<Record<string, Requests[N]>>,
): Json<Requests[N]> {
  return { 'application/json': { schema: refTo(type), examples } };
}

export function jsonAnswer<N extends keyof Answers>(type: N, example: Answers[N]): Json<Answers[N]> {
  return { 'application/json': { schema: refTo(type), examples: { answer: example } } };
}

export const Q: Parameter = {
  name: 'q',
  description: 'Search text.',
  required: true,
  schema: { type: 'string', ...SEARCH_TEXT },
  example: 'submarine captain',
};
export const K: Parameter = {
  name: 'k',
  description: 'How many hits at most.',
  schema: { type: 'integer', minimum: 1, maximum: K_MAX, default: K_DEFAULT },
};
export const MODE: Parameter = {
  name: 'mode',
  description: "Omitted: the collection's.",
  schema: { type: 'string', enum: [...SEARCH_MODES] },
};
export const INCLUDE_COMMON: Parameter = {
  name: 'include_common',
  description: 'Whether hits of the common collection are added, where the server has one.',
  schema: { type: 'boolean', default: false },
};
export const VECTOR_SAMPLE: Parameter = {
  name: 'sample',
  description: 'How many vectors at most; fewer where they are long.',
  schema: { type: 'integer', minimum: 1, maximum: VECTOR_SAMPLE_MAX, default: VECTOR_SAMPLE_DEFAULT },
};

/** Of the query log. */
export const QUERIES_PAGE: readonly Parameter[] = [
  {
    name: 'limit',
    description: 'How many entries at most.',
    schema: { type: 'integer', minimum: 1, maximum: QUERIES_PAGE_MAX, default: QUERIES_PAGE_DEFAULT },
  },
  {
    name: 'offset',
    description: 'How many of the latest entries are left out.',
    schema: { type: 'integer', minimum: 0, default: 0 },
  },
  { ...CURSOR, schema: { type: 'string', format: 'uuid' } },
];

/** Of CSV and TSV files. */
export const CSV: readonly Parameter[] = [
  {
    name: 'csv_has_header',
    description: 'Whether the first row names the columns.',
    schema: { type: 'string', enum: ['auto', 'yes', 'no'], default: 'auto' },
  },
  {
    name: 'csv_meta_cols',
    description: 'Columns that become metadata: names and 1-based numbers, with commas between.',
    schema: { type: 'string' },
  },
  {
    name: 'csv_include_cols',
    description: 'Columns that become text. Omitted: all but those of the metadata.',
    schema: { type: 'string' },
  },
];
