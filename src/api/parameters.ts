// Parameters that several routes share (path parameters by name, and query parameters), and constraints on body fields
// that types cannot express. Constants.
import { CONTROL_CHARACTERS, DOCID_BYTES_MAX, SLUG } from './ids.js';
import { DIM_MAX, DISPLAY_NAME_CHARACTERS_MAX, PAGE_MAX } from './limits.js';
import type { Parameter, Schema } from './route.js';

interface PathParameter {
  readonly description: string;
  readonly schema: Schema;
  readonly example: string;
}

/** Slugs of tenants and collections. */
export const SLUG_TEXT: Schema = { type: 'string', pattern: SLUG.source };
/** A pattern for one character that is not a control character. */
export const PLAIN_CHARACTER = `[^${CONTROL_CHARACTERS.source.slice(1)}`;
/** At most 512 bytes of UTF-8; JSON Schema can only bound characters. */
const DOC_ID: Schema = { type: 'string', minLength: 1, maxLength: DOCID_BYTES_MAX, pattern: `^${PLAIN_CHARACTER}+$` };
const ANY_ID: Schema = { type: 'string', minLength: 1 };

/** Every parameter that occurs in the path of a route. */
export const PATH_PARAMETERS: Readonly<Record<string, PathParameter>> = {
  tenant: { description: 'Slug of the tenant.', schema: SLUG_TEXT, example: 'acme' },
  name: { description: 'Slug of the collection.', schema: SLUG_TEXT, example: 'docs' },
  collection: { description: 'Slug of the collection.', schema: SLUG_TEXT, example: 'docs' },
  alias: { description: 'Alias of a collection, a slug.', schema: SLUG_TEXT, example: 'current' },
  set: { description: 'Slug of the judgement set.', schema: SLUG_TEXT, example: 'support' },
  docid: { description: 'Document id, percent-encoded: a `/` in it is `%2F`.', schema: DOC_ID, example: 'nemo' },
  rid: { description: 'Chunk id, percent-encoded.', schema: ANY_ID, example: 'nemo::chunk_0' },
  query_id: { description: 'Id of a logged search.', schema: ANY_ID, example: '0198c2f1-6a07-7b52-8c11-90d3f3f5a1b2' },
  job_id: { description: 'Id of a reindex job.', schema: ANY_ID, example: '0198c2f5-3b1c-7c44-b0a1-5e2f7d9c8a10' },
  key_id: { description: 'Id of a key.', schema: ANY_ID, example: '0198c2f1-7e44-7d10-a3f2-5b1c0e9d8a77' },
  backup: { description: 'Name of a backup.', schema: ANY_ID, example: 'sheaf-2026-01-05T09-20-00Z.zip' },
  file: { description: 'Name of a file that the page uses.', schema: ANY_ID, example: 'swagger-ui.css' },
  section: { description: 'Section of the documentation.', schema: ANY_ID, example: 'guide' },
  page: { description: 'Name of a page or picture of the section.', schema: ANY_ID, example: 'quickstart' },
};

/** A text with at least one character that is not white space. */
export const SEARCH_TEXT: Schema = { pattern: '\\S' };

export const DISPLAY_NAME: Schema = {
  pattern: `^${PLAIN_CHARACTER}*${PLAIN_CHARACTER.replace('[^', '[^\\s')}${PLAIN_CHARACTER}*$`,
  maxLength: DISPLAY_NAME_CHARACTERS_MAX,
};

export const VECTOR: Schema = {
  minItems: 1,
  maxItems: DIM_MAX,
  description: "A vector with the collection's number of dimensions: finite, and not all zero.",
};

export const V_BASE64: Schema = {
  contentEncoding: 'base64',
  description: 'The vector as base64 of its numbers in float32, little-endian: 4 bytes for each dimension.',
};

/** Exactly one of the fields is present and not null. */
export const exactlyOne = (...fields: string[]): Schema => ({
  oneOf: fields.map((field) => ({ required: [field], properties: { [field]: { not: { type: 'null' } } } })),
});

export const CURSOR: Parameter = {
  name: 'cursor',
  description: 'Start of the page: `next_cursor` of the previous page.',
  schema: { type: 'string', minLength: 1 },
};

/** Paging of listings that return everything without these parameters. */
export const PAGE: readonly Parameter[] = [
  {
    name: 'limit',
    description: 'Maximum number of entries. Default: all.',
    schema: { type: 'integer', minimum: 1, maximum: PAGE_MAX },
  },
  CURSOR,
];
