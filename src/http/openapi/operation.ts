// What stands in the operations tables of areas whose routes have no definitions yet.
import type { Parameter, RouteDefinition, Schema } from '../../api/route.js';
import { type Answers, type Requests, refTo } from './schemas.js';

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
