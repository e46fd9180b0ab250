// What several routes share: the parameters of paths, by name, and of query strings, and what is asked of fields of bodies
// beyond their types. Constants.
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
/** Pattern of one character that is no control character. */
export const PLAIN_CHARACTER = `[^${CONTROL_CHARACTERS.source.slice(1)}`;
/** 512 bytes of UTF-8 at most, which no keyword can say. */
const DOC_ID: Schema = { type: 'string', minLength: 1, maxLength: DOCID_BYTES_MAX, pattern: `^${PLAIN_CHARACTER}+$` };
const ANY_ID: Schema = { type: 'string', minLength: 1 };

/** Every name that stands in the path of a route. */
export const PATH_PARAMETERS: Readonly<Record<string, PathParameter>> = {
  tenant: { description: 'Slug of the tenant.', schema: SLUG_TEXT, example: 'acme' },
  name: { description: 'Slug of the collection.', schema: SLUG_TEXT, example: 'docs' },
  collection: { description: 'Slug of the collection.', schema: SLUG_TEXT, example: 'docs' },
  docid: { description: 'Document id, percent-encoded: a `/` in it is `%2F`.', schema: DOC_ID, example: 'nemo' },
  rid: { description: 'Chunk id, percent-encoded.', schema: ANY_ID, example: 'nemo::chunk_0' },
  query_id: { description: 'Id of a logged search.', schema: ANY_ID, example: '0198c2f1-6a07-7b52-8c11-90d3f3f5a1b2' },
  job_id: { description: 'Id of a reindex job.', schema: ANY_ID, example: '0198c2f5-3b1c-7c44-b0a1-5e2f7d9c8a10' },
  key_id: { description: 'Id of a key.', schema: ANY_ID, example: '0198c2f1-7e44-7d10-a3f2-5b1c0e9d8a77' },
  file: { description: 'Name of a file of the page.', schema: ANY_ID, example: 'swagger-ui.css' },
  section: { description: 'Section of the documentation.', schema: ANY_ID, example: 'guide' },
  page: { description: 'Name of a page of the section, or of a picture.', schema: ANY_ID, example: 'quickstart' },
};

/** With something else than white space in it. */
export const SEARCH_TEXT: Schema = { pattern: '\\S' };

export const DISPLAY_NAME: Schema = {
  pattern: `^${PLAIN_CHARACTER}*${PLAIN_CHARACTER.replace('[^', '[^\\s')}${PLAIN_CHARACTER}*$`,
  maxLength: DISPLAY_NAME_CHARACTERS_MAX,
};

export const VECTOR: Schema = {
  minItems: 1,
  maxItems: DIM_MAX,
  description: "A vector of the collection's dimensions: finite, not all zero.",
};

/** Of two fields one is there and not null. */
export const exactlyOne = (a: string, b: string): Schema => ({
  oneOf: [a, b].map((field) => ({ required: [field], properties: { [field]: { not: { type: 'null' } } } })),
});

export const CURSOR: Parameter = {
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
