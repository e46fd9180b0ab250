// What the server asks of bodies and promises of answers beyond what TypeScript's types can say: bounds, choices that
// have an error code of their own, fields of which exactly one is wanted. Read by schemas.ts. Constants.
import {
  BATCH_ITEMS_MAX,
  CHUNK_SIZE_MAX,
  CHUNK_SIZE_MIN,
  DIM_MAX,
  DISPLAY_NAME_CHARACTERS_MAX,
} from '../../contract/limits.js';
import { SEARCH_MODES } from '../../contract/resources.js';
import type { Schema } from './schema.js';

/** Slugs of tenants and collections. */
export const SLUG: Schema = { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' };
/** 512 bytes of UTF-8 at most, which no keyword can say. */
export const DOC_ID: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: 512,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$',
};

/** With something else than white space in it. */
export const SEARCH_TEXT: Schema = { pattern: '\\S' };

const DISPLAY_NAME: Schema = {
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$',
  maxLength: DISPLAY_NAME_CHARACTERS_MAX,
};
const VECTOR: Schema = { minItems: 1, maxItems: DIM_MAX };

/** Of two fields one is there and not null. */
const exactlyOne = (a: string, b: string): Schema => ({
  oneOf: [a, b].map((field) => ({ required: [field], properties: { [field]: { not: { type: 'null' } } } })),
});

/** Keywords added to a type, or to one of its fields (`Type.field`). */
export const REFINEMENTS: Readonly<Record<string, Schema>> = {
  SearchBody: exactlyOne('q', 'v'),
  'SearchBody.q': SEARCH_TEXT,
  'SearchBody.v': { ...VECTOR, description: "A vector of the collection's dimensions: finite, not all zero." },
  'SearchBody.k': { default: 5, description: 'How many hits at most.' },
  'SearchBody.mode': {
    enum: [...SEARCH_MODES, null],
    description: "Omitted: the collection's. `boost` and `hybrid` want `q`.",
  },
  'Rerank.depth': { description: 'How many candidates are read, at least k. Omitted: 50, or k where that is more.' },
  IngestBody: exactlyOne('text', 'vector'),
  'IngestBody.docid': { maxLength: 512, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' },
  'IngestBody.vector': { ...VECTOR, description: "A vector of the collection's dimensions: finite, not all zero." },
  'BatchBody.documents': { minItems: 1, maxItems: BATCH_ITEMS_MAX },
  'CreateBody.display_name': DISPLAY_NAME,
  'CreateBody.search_mode': { enum: [...SEARCH_MODES, null], default: 'vector' },
  'CreateBody.priority_key': { default: 'prio_boost' },
  'ChunkingBody.size': { minimum: CHUNK_SIZE_MIN, maximum: CHUNK_SIZE_MAX },
  'ChunkingBody.overlap': { maximum: CHUNK_SIZE_MAX / 4 },
  'UpdateBody.display_name': DISPLAY_NAME,
  'MoveBody.new_name': SLUG,
  'CreateTenantBody.tenant': SLUG,
  'CreateTenantBody.display_name': DISPLAY_NAME,
  'UpdateTenantBody.display_name': DISPLAY_NAME,
  'CreateKeyBody.label': { ...DISPLAY_NAME, default: 'primary' },
  'CreateKeyBody.expires': { format: 'date-time' },
};

/** Numbers of answers that are whole and not negative. */
export const WHOLE_FIELDS: ReadonlySet<string> = new Set([
  ...[
    'count',
    'chunks',
    'chunks_deleted',
    'chunk_count',
    'doc_count',
    'index',
    'succeeded',
    'failed',
    'size',
    'overlap',
    'version',
    'schema_version',
  ],
  ...[
    'k',
    'result_count',
    'original_result_count',
    'tenant_count',
    'collection_count',
    'search_latency_count',
    'ingest_latency_count',
    'hw_cores',
  ],
  ...[
    'requests_total',
    'search_total',
    'matches_total',
    'documents_indexed_total',
    'documents_deleted_total',
    'chunks_indexed_total',
  ],
  ...[
    'collections_created_total',
    'collections_deleted_total',
    'errors_total',
    'collections_deleted',
    'total_chunks',
    'completed_chunks',
    'keep_previous_seconds',
    'last_n',
    'queries',
    'dim',
  ],
]);

/** Texts of answers that are ISO 8601 times. */
export const TIME_FIELDS: ReadonlySet<string> = new Set([
  'created_at',
  'executed_at',
  'started_at',
  'finished_at',
  'updated_at',
  'expires',
  'ingested_at',
  'revoked_at',
]);
