// What stands in the operations tables: everything of an operation's documentation that cannot be read off its route
// and its types. Words for the files of operations/; rendered by document.ts.
import { SEARCH_MODES } from '../../api/choices.js';
import type { ErrorCode } from '../../api/errors.js';
import {
  K_DEFAULT,
  K_MAX,
  PAGE_MAX,
  QUERIES_PAGE_DEFAULT,
  QUERIES_PAGE_MAX,
  VECTOR_SAMPLE_DEFAULT,
  VECTOR_SAMPLE_MAX,
} from '../../api/limits.js';
import { type Answers, DOC_ID, type Requests, SEARCH_TEXT, SLUG, type Schema, refTo } from './schemas.js';

export type Tag =
  | 'Health'
  | 'Metrics'
  | 'Collections'
  | 'Archives'
  | 'Documents'
  | 'Search'
  | 'Logged searches'
  | 'Reindex jobs'
  | 'Embedders'
  | 'Agents'
  | 'Tenants and keys'
  | 'Documentation';

export interface Operation {
  readonly tag: Tag;
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly query?: readonly Parameter[];
  readonly request?: RequestBody;
  /** The success body, by media type. */
  readonly answer: Readonly<Record<string, Content>>;
  /** Successes that have no body. */
  readonly empty?: readonly number[];
  /** Refusals in the words of another protocol than the envelope's, by status. */
  readonly foreignRefusals?: Readonly<Record<number, ForeignRefusal>>;
  /** Codes beside those that every operation of its access, body and parameters can give (codes.ts). */
  readonly codes?: readonly ErrorCode[];
}

export interface ForeignRefusal {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface RequestBody {
  readonly required: boolean;
  readonly content: Readonly<Record<string, Content>>;
}

export interface Content {
  readonly schema: Schema;
  /** By name. Those of JSON answers are without the common fields, which document.ts adds. */
  readonly examples: Readonly<Record<string, unknown>>;
}

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

/** A body that is text or bytes, not JSON. */
export function otherContent(mediaType: string, example?: string): Readonly<Record<string, Content>> {
  return { [mediaType]: { schema: { type: 'string' }, examples: example === undefined ? {} : { answer: example } } };
}

// Parameters that several operations share: those of paths, by name, and those of query strings. Used by the tables of
// operations/ and by document.ts. Constants.

interface PathParameter {
  readonly description: string;
  readonly schema: Schema;
  readonly example: string;
}

const ANY_ID: Schema = { type: 'string', minLength: 1 };

/** Every name that stands in a path template. */
export const PATH_PARAMETERS: Readonly<Record<string, PathParameter>> = {
  tenant: { description: 'Slug of the tenant.', schema: SLUG, example: 'acme' },
  name: { description: 'Slug of the collection.', schema: SLUG, example: 'docs' },
  collection: { description: 'Slug of the collection.', schema: SLUG, example: 'docs' },
  docid: { description: 'Document id, percent-encoded: a `/` in it is `%2F`.', schema: DOC_ID, example: 'nemo' },
  rid: { description: 'Chunk id, percent-encoded.', schema: ANY_ID, example: 'nemo::chunk_0' },
  query_id: { description: 'Id of a logged search.', schema: ANY_ID, example: '0198c2f1-6a07-7b52-8c11-90d3f3f5a1b2' },
  job_id: { description: 'Id of a reindex job.', schema: ANY_ID, example: '0198c2f5-3b1c-7c44-b0a1-5e2f7d9c8a10' },
  key_id: { description: 'Id of a key.', schema: ANY_ID, example: '0198c2f1-7e44-7d10-a3f2-5b1c0e9d8a77' },
  file: { description: 'Name of a file of the page.', schema: ANY_ID, example: 'swagger-ui.css' },
};

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

const CURSOR: Parameter = {
  name: 'cursor',
  description: 'Where the page begins: `next_cursor` of the page before.',
  schema: { type: 'string', minLength: 1 },
};

/** Of listings that are whole without them. */
export const PAGE: readonly Parameter[] = [
  {
    name: 'limit',
    description: 'How many entries at most. Omitted: all.',
    schema: { type: 'integer', minimum: 1, maximum: PAGE_MAX },
  },
  CURSOR,
];

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
