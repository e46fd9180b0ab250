// Parameters that several operations share: those of paths, by name, and those of query strings. Used by the tables of
// operations/ and by document.ts. Constants.
import {
  K_DEFAULT,
  K_MAX,
  PAGE_MAX,
  QUERIES_PAGE_DEFAULT,
  QUERIES_PAGE_MAX,
  VECTOR_SAMPLE_DEFAULT,
  VECTOR_SAMPLE_MAX,
} from '../../contract/limits.js';
import { SEARCH_MODES } from '../../contract/resources.js';
import type { Parameter } from './operation.js';
import { DOC_ID, SEARCH_TEXT, SLUG } from './refinements.js';
import type { Schema } from './schema.js';

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
