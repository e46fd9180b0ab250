// The answer of each endpoint as a shape, from the endpoint tables of the specification, with the common fields in
// each. `next_cursor` is contract.md's and issue 4's: it comes only with `limit`.
import {
  BATCH_RESULT,
  CHUNK_DETAIL,
  CHUNK_SUMMARY,
  COLLECTION_DETAIL,
  COLLECTION_SUMMARY,
  COMMON,
  CREATED_COLLECTION,
  DOCUMENT,
  DOCUMENT_SUMMARY,
  EMBEDDER,
  EMBEDDER_DEFAULT,
  QUERY_ENTRY,
  QUERY_SUMMARY,
  REINDEX_JOB,
  SEARCH_HIT,
  SEARCH_TIMING,
} from './resources.js';
import { joined, type FieldType, type Shape } from './shape.js';

const answer = (required: Shape['required'], optional: Shape['required'] = {}): Shape =>
  joined({ required, optional }, COMMON);

const IN_COLLECTION = { tenant: 'string', collection: 'string' } as const;
/** Beyond the specification. */
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
  updated: answer({ tenant: 'string', name: 'string', display_name: 'string' }),
  deleted: answer({ tenant: 'string', deleted: 'string' }),
  moved: answer({ tenant: 'string', old_name: 'string', new_name: 'string' }),
  restored: answer(IN_COLLECTION, RESTORED),
  restoredDataset: answer({}, { ...RESTORED, left_out: { list: 'string' } }),
  documents: listing(IN_COLLECTION, 'documents', DOCUMENT_SUMMARY),
  ingested: answer({ ...IN_COLLECTION, docid: 'string', chunks: 'integer' }),
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

/** contract.md names these; the specification says only "counters, version and hardware info". */
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
