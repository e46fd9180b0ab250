// The resources of the specification ("Resources and their fields"), table by table, as shapes. Typed in from the
// specification, not from the server: a field that the server adds or drops fails here.
import type { Shape } from './shape.js';

const MODE = { oneOf: ['vector', 'boost', 'hybrid'] };
/** `language`, `precision` and `memory` go beyond the specification. */
const LANGUAGE = { language: 'string' } as const;
const PRECISION = { precision: { oneOf: ['int16', 'int8'] } };

/** The server always gives all three; the specification asks for none of them. */
export const COMMON: Shape = { required: { ok: 'true', latency_ms: 'number', request_id: 'string' } };

const CHUNKING: Shape = {
  required: { strategy: { oneOf: ['fixed', 'none'] } },
  optional: { size: 'integer', overlap: 'integer' },
};

export const COLLECTION_DETAIL: Shape = {
  required: { tenant: 'string', name: 'string', doc_count: 'integer', chunk_count: 'integer' },
  optional: {
    display_name: 'string',
    created_at: 'time',
    embed_model: 'string',
    embedder_type: 'string',
    embedder_config: 'object',
    vector_space_key: 'string',
    chunking: CHUNKING,
    priority_key: 'string',
    search_mode: MODE,
    ...LANGUAGE,
    ...PRECISION,
    memory: 'object',
    service_version: 'string',
    schema_version: 'integer',
  },
};

export const COLLECTION_SUMMARY: Shape = {
  required: { name: 'string' },
  optional: { display_name: 'string', embedder_label: 'string', vector_space_key: 'string', ...LANGUAGE },
};

export const CREATED_COLLECTION: Shape = {
  required: {
    collection: 'string',
    name: 'string',
    tenant: 'string',
    display_name: 'string',
    embed_model: 'string',
    embedder_type: 'string',
  },
  optional: {
    embedder_config: 'object',
    chunking: CHUNKING,
    priority_key: 'string',
    search_mode: MODE,
    ...LANGUAGE,
    ...PRECISION,
  },
};

export const DOCUMENT: Shape = {
  required: {
    tenant: 'string',
    collection: 'string',
    docid: 'string',
    version: 'integer',
    ingested_at: 'time',
    metadata: 'object',
    chunk_ids: { list: 'string' },
    chunk_count: 'integer',
  },
};

export const DOCUMENT_SUMMARY: Shape = {
  required: { docid: 'string', version: 'integer', ingested_at: 'time', chunk_count: 'integer' },
};

export const CHUNK_SUMMARY: Shape = {
  required: { rid: 'string', meta: 'object', ingested_at: 'time' },
  optional: { chunk_path: 'string' },
};

export const CHUNK_DETAIL: Shape = {
  required: {
    rid: 'string',
    tenant: 'string',
    collection: 'string',
    docid: 'string',
    ingested_at: 'time',
    meta: 'object',
  },
  optional: { chunk_path: 'string' },
};

export const SEARCH_HIT: Shape = {
  required: {
    tenant: 'string',
    collection: 'string',
    id: 'string',
    score: 'number',
    meta: 'object',
    match_reason: 'string',
  },
  optional: { text: 'string' },
};

export const SEARCH_TIMING: Shape = {
  required: { embed_ms: 'number', filter_ms: 'number', hydrate_ms: 'number', search_ms: 'number' },
  optional: { lexical_search_ms: 'number', vector_search_ms: 'number' },
};

const CONTENT_FILTER: Shape = {
  required: { op: { oneOf: ['exact', 'phrase', 'prefix', 'contains'] }, value: 'string' },
};

export const QUERY_SUMMARY: Shape = {
  required: { executed_at: 'time', k: 'integer', query_id: 'uuidv7', query_text: 'string', result_count: 'integer' },
  optional: { latency_ms: 'number', replay_of: 'uuidv7', request_id: 'string' },
};

export const QUERY_ENTRY: Shape = {
  required: {
    query_id: 'uuidv7',
    tenant: 'string',
    collection: 'string',
    actor: 'string',
    query_text: 'string',
    k: 'integer',
    executed_at: 'time',
    result_count: 'integer',
    result_ids: { list: 'string' },
  },
  optional: {
    filters: 'object',
    content_filter: CONTENT_FILTER,
    mode: 'string',
    include_common: 'boolean',
    common_collection: 'string',
    common_tenant: 'string',
    latency_ms: 'number',
    timing: SEARCH_TIMING,
    replay_of: 'uuidv7',
    request_id: 'string',
  },
};

const JOB_STATUS = {
  oneOf: ['queued', 'running', 'pausing', 'paused', 'committing', 'cancelling', 'cancelled', 'failed', 'succeeded'],
};
/** `compact` and `keep_previous_seconds` go beyond the specification. */
export const REINDEX_JOB: Shape = {
  required: {
    job_id: 'uuidv7',
    tenant: 'string',
    collection: 'string',
    status: JOB_STATUS,
    target: { required: { embed_model: 'string', embedder_type: 'string' }, optional: { embedder_config: 'object' } },
    total_chunks: 'integer',
    completed_chunks: 'integer',
    created_at: 'time',
    updated_at: 'time',
  },
  optional: {
    started_at: 'anything',
    finished_at: 'anything',
    error: 'string',
    compact: 'true',
    keep_previous_seconds: 'integer',
  },
};

export const EMBEDDER: Shape = {
  required: { key: 'string', vector_key: 'string', embedder_type: 'string', embed_model: 'string' },
};

export const EMBEDDER_DEFAULT: Shape = {
  required: { vector_key: 'string', instance_keys: { list: 'string' } },
  optional: { selector: 'string' },
};

export const BATCH_RESULT: Shape = {
  required: { index: 'integer', ok: 'boolean' },
  optional: { chunks: 'integer', docid: 'string', code: 'string', error: 'string' },
};

const VALIDATION_ENTRY: Shape = {
  required: { loc: { list: 'location' }, msg: 'string', type: 'string' },
  optional: { ctx: 'object', input: 'anything' },
};

/** `error_type` is contract.md's; `detail` belongs to 422 alone. */
export const ERROR: Shape = {
  required: { ok: 'false', code: 'string', error: 'string', latency_ms: 'number', request_id: 'string' },
  optional: { details: 'object', error_type: { oneOf: ['invalid', 'not_found', 'conflict', 'unavailable'] } },
};

export const VALIDATION_ERROR: Shape = {
  required: {
    ...ERROR.required,
    details: 'object',
    error_type: { oneOf: ['invalid'] },
    detail: { list: VALIDATION_ENTRY },
  },
};
