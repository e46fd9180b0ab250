// The resources of the specification ("Resources and their fields") as shapes, table by table, and the check of an
// answer against them: a missing field, a wrong type, a field that no table lists. The shapes are typed in from the
// specification, not derived from the server, so that a field that the server adds or drops fails here.

type FieldType =
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'object'
  | 'true'
  | 'false'
  | 'anything'
  /** A step of the `loc` of a validation error. */
  | 'location'
  /** ISO 8601 in UTC, with Z. */
  | 'time'
  | 'uuidv7'
  | { readonly list: FieldType }
  | { readonly oneOf: readonly string[] }
  | Shape;

export interface Shape {
  readonly required: Readonly<Record<string, FieldType>>;
  readonly optional?: Readonly<Record<string, FieldType>>;
}

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const PLAIN: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  true: (value) => value === true,
  false: (value) => value === false,
  anything: () => true,
  location: (value) => typeof value === 'string' || Number.isInteger(value),
  time: (value) => typeof value === 'string' && TIME.test(value),
  uuidv7: (value) => typeof value === 'string' && UUID_V7.test(value),
};

/** What is wrong with a value, one line for each problem with its place; empty where the value fits. */
export function misfits(value: unknown, type: FieldType, at = 'body'): string[] {
  if (typeof type === 'string')
    return PLAIN[type]?.(value) ? [] : [`${at} should be ${type}, is ${JSON.stringify(value)}`];
  if ('list' in type) return listMisfits(value, type.list as FieldType, at);
  if ('oneOf' in type)
    return (type.oneOf as readonly string[]).includes(value as string)
      ? []
      : [`${at} should be one of ${String(type.oneOf)}, is ${JSON.stringify(value)}`];
  return objectMisfits(value, type as Shape, at);
}

function listMisfits(value: unknown, item: FieldType, at: string): string[] {
  if (!Array.isArray(value)) return [`${at} should be a list, is ${JSON.stringify(value)}`];
  return value.flatMap((entry, i) => misfits(entry, item, `${at}[${i}]`));
}

function objectMisfits(value: unknown, { required, optional = {} }: Shape, at: string): string[] {
  if (!isObject(value)) return [`${at} should be an object, is ${JSON.stringify(value)}`];
  const missing = Object.keys(required)
    .filter((name) => !(name in value))
    .map((name) => `${at}.${name} is missing`);
  const wrong = Object.entries(value).flatMap(([name, field]) => {
    const type = Object.hasOwn(required, name)
      ? required[name]
      : Object.hasOwn(optional, name)
        ? optional[name]
        : undefined;
    return type === undefined
      ? [`${at}.${name} is in no table of the specification`]
      : misfits(field, type, `${at}.${name}`);
  });
  return [...missing, ...wrong];
}

/** A shape with the fields of both. */
function joined(a: Shape, b: Shape): Shape {
  return { required: { ...a.required, ...b.required }, optional: { ...a.optional, ...b.optional } };
}

const MODE = { oneOf: ['vector', 'boost', 'hybrid'] };
/** `language`, `precision`, `partitions`, `memory`, and `version` in answers of an ingest go beyond the specification. */
const LANGUAGE = { language: 'string' } as const;
const PRECISION = { precision: { oneOf: ['int16', 'int8'] } };
const PARTITIONS = { partitions: 'integer' } as const;

/** The server always gives all three fields; the specification requires none of them. */
const COMMON: Shape = { required: { ok: 'true', latency_ms: 'number', request_id: 'string' } };

const CHUNKING: Shape = {
  required: { strategy: { oneOf: ['fixed', 'sentence', 'paragraph', 'none'] } },
  optional: { size: 'integer', overlap: 'integer' },
};

const SYNONYMS: Shape = { required: { words: { list: 'string' } }, optional: { to: { list: 'string' } } };

const COLLECTION_DETAIL: Shape = {
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
    ...PARTITIONS,
    ttl: 'integer',
    memory: 'object',
    service_version: 'string',
    schema_version: 'integer',
    synonyms: { list: SYNONYMS },
  },
};

const COLLECTION_SUMMARY: Shape = {
  required: { name: 'string' },
  optional: { display_name: 'string', embedder_label: 'string', vector_space_key: 'string', ...LANGUAGE },
};

const CREATED_COLLECTION: Shape = {
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
    ...PARTITIONS,
    ttl: 'integer',
  },
};

const DOCUMENT: Shape = {
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
  optional: { expires_at: 'time' },
};

const DOCUMENT_SUMMARY: Shape = {
  required: { docid: 'string', version: 'integer', ingested_at: 'time', chunk_count: 'integer' },
  optional: { expires_at: 'time' },
};

const CHUNK_SUMMARY: Shape = {
  required: { rid: 'string', meta: 'object', ingested_at: 'time' },
  optional: { chunk_path: 'string' },
};

const CHUNK_DETAIL: Shape = {
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

const SEARCH_HIT: Shape = {
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

const SEARCH_TIMING: Shape = {
  required: { embed_ms: 'number', filter_ms: 'number', hydrate_ms: 'number', search_ms: 'number' },
  optional: { lexical_search_ms: 'number', vector_search_ms: 'number' },
};

const CONTENT_FILTER: Shape = {
  required: { op: { oneOf: ['exact', 'phrase', 'prefix', 'contains'] }, value: 'string' },
};

const QUERY_SUMMARY: Shape = {
  required: { executed_at: 'time', k: 'integer', query_id: 'uuidv7', query_text: 'string', result_count: 'integer' },
  // `mode` and `actor` go beyond the specification.
  optional: { latency_ms: 'number', mode: 'string', actor: 'string', replay_of: 'uuidv7', request_id: 'string' },
};

const QUERY_ENTRY: Shape = {
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
const REINDEX_JOB: Shape = {
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

const EMBEDDER: Shape = {
  required: { key: 'string', vector_key: 'string', embedder_type: 'string', embed_model: 'string' },
};

const EMBEDDER_DEFAULT: Shape = {
  required: { vector_key: 'string', instance_keys: { list: 'string' } },
  optional: { selector: 'string' },
};

const BATCH_RESULT: Shape = {
  required: { index: 'integer', ok: 'boolean' },
  optional: { chunks: 'integer', version: 'integer', docid: 'string', code: 'string', error: 'string' },
};

const VALIDATION_ENTRY: Shape = {
  required: { loc: { list: 'location' }, msg: 'string', type: 'string' },
  optional: { ctx: 'object', input: 'anything' },
};

/** `error_type` comes from contract.md; `detail` occurs with status 422 only. */
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

// The answer of each endpoint as a shape, from the endpoint tables of the specification, with the common fields in
// each. `next_cursor` comes from contract.md and appears only when the request gives `limit`.

const answer = (required: Shape['required'], optional: Shape['required'] = {}): Shape =>
  joined({ required, optional }, COMMON);

const IN_COLLECTION = { tenant: 'string', collection: 'string' } as const;
/** Fields beyond the specification. */
const RESTORED = { dry_run: 'true', counts: 'object' } as const;
const CURSOR = { next_cursor: 'string' } as const;
const listing = (fields: Shape['required'], name: string, item: FieldType): Shape =>
  answer({ ...fields, [name]: { list: item }, count: 'integer' }, CURSOR);

export const ANSWERS = {
  health: answer({ status: { oneOf: ['ready', 'degraded'] }, version: 'string' }),
  live: answer({ status: { oneOf: ['live'] } }, { version: 'string' }),
  ready: answer({
    version: 'string',
    checks: { required: { storage: 'string', embeddings: 'string', shards: 'string' } },
  }),
  metricsReset: answer({ reset_at: 'number' }),
  tenants: answer({ tenants: { list: 'string' }, count: 'integer' }),
  embedders: answer({ embedders: { list: EMBEDDER }, default: EMBEDDER_DEFAULT, count: 'integer' }),
  tenantEmbedders: answer({
    tenant: 'string',
    embedders: { list: EMBEDDER },
    default: EMBEDDER_DEFAULT,
    count: 'integer',
  }),
  reindexJob: joined(REINDEX_JOB, COMMON),
  collections: listing({ tenant: 'string' }, 'collections', COLLECTION_SUMMARY),
  created: joined(CREATED_COLLECTION, COMMON),
  detail: joined(COLLECTION_DETAIL, COMMON),
  updated: answer(
    { tenant: 'string', name: 'string', display_name: 'string' },
    { synonyms: { list: SYNONYMS }, ttl: 'integer' },
  ),
  deleted: answer({ tenant: 'string', deleted: 'string' }),
  moved: answer({ tenant: 'string', old_name: 'string', new_name: 'string' }),
  restored: answer(IN_COLLECTION, RESTORED),
  restoredDataset: answer({}, { ...RESTORED, left_out: { list: 'string' } }),
  documents: listing(IN_COLLECTION, 'documents', DOCUMENT_SUMMARY),
  ingested: answer({ ...IN_COLLECTION, docid: 'string', chunks: 'integer' }, { version: 'integer' }),
  document: joined(DOCUMENT, COMMON),
  documentDeleted: answer({ ...IN_COLLECTION, docid: 'string', chunks_deleted: 'integer' }),
  chunks: listing({ ...IN_COLLECTION, docid: 'string' }, 'chunks', CHUNK_SUMMARY),
  batch: answer({
    ...IN_COLLECTION,
    documents: { list: BATCH_RESULT },
    count: 'integer',
    succeeded: 'integer',
    failed: 'integer',
  }),
  chunk: joined(CHUNK_DETAIL, COMMON),
  queries: listing(IN_COLLECTION, 'queries', QUERY_SUMMARY),
  query: answer({ query: QUERY_ENTRY }),
  replay: answer(
    { original_query_id: 'uuidv7', original_result_count: 'integer', matches: { list: SEARCH_HIT } },
    { mode: 'string', original_latency_ms: 'number', replay_query_id: 'uuidv7', timing: SEARCH_TIMING },
  ),
  search: answer(
    { matches: { list: SEARCH_HIT } },
    { mode: { oneOf: ['vector', 'boost', 'hybrid'] }, query_id: 'uuidv7', timing: SEARCH_TIMING },
  ),
} as const satisfies Record<string, Shape>;

/** contract.md names these counters; the specification says only "counters, version and hardware info". */
const COUNTERS =
  'requests_total search_total matches_total documents_indexed_total documents_deleted_total chunks_indexed_total collections_created_total collections_deleted_total errors_total uptime_seconds tenant_count collection_count doc_count chunk_count hw_cores hw_ram_gb'.split(
    ' ',
  );
const LATENCIES = ['search', 'ingest'].map((what) => `${what}_latency`);

export const METRICS: Shape = answer(
  {
    ...typed(COUNTERS, 'number'),
    ...typed(
      LATENCIES.map((name) => `${name}_count`),
      'integer',
    ),
    version: 'string',
    hw_cpu: 'string',
    hw_os: 'string',
  },
  typed(
    LATENCIES.flatMap((name) => ['50', '95', '99'].map((percentile) => `${name}_p${percentile}_ms`)),
    'number',
  ),
);

function typed(names: readonly string[], type: FieldType): Record<string, FieldType> {
  return Object.fromEntries(names.map((name) => [name, type]));
}
