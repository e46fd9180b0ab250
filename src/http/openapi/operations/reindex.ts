// Entries of the reindex operations, of going back, and of the events of a collection.
// Read by ../operations.ts. Constants.
import type { ReindexJob, RolledBack } from '../../../contract/api/reindex.js';
import type { ErrorCode } from '../../../contract/errors.js';
import type { EventType } from '../../../service/events.js';
import { jsonAnswer, jsonRequest, type Operation } from '../operation.js';
import type { Schema } from '../schema.js';

const tag = 'Reindex jobs' as const;

const JOB: ReindexJob = {
  job_id: '0198c2f5-3b1c-7c44-b0a1-5e2f7d9c8a10',
  tenant: 'acme',
  collection: 'docs',
  status: 'running',
  target: { embed_model: 'all-MiniLM-L6-v2', embedder_type: 'onnx', embedder_config: { dim: 384 } },
  total_chunks: 468,
  completed_chunks: 128,
  created_at: '2026-01-05T10:02:11.902Z',
  updated_at: '2026-01-05T10:02:13.480Z',
  started_at: '2026-01-05T10:02:11.910Z',
  finished_at: null,
  gate: { min_overlap: 0.8, last_n: 100 },
  keep_previous_seconds: 3600,
  rate: 81.3,
  eta_seconds: 4,
};
const PAUSED: ReindexJob = { ...JOB, status: 'paused' };
const CANCELLED: ReindexJob = { ...JOB, status: 'cancelled', finished_at: '2026-01-05T10:02:14.001Z' };
const ROLLED_BACK: RolledBack = {
  tenant: 'acme',
  collection: 'docs',
  embed_model: 'static-minilm-512',
  embedder_type: 'builtin',
  embedder_config: {},
  vector_space_key: 'builtin:static-minilm-512:dim=512',
};

const START_CODES: readonly ErrorCode[] = [
  'collection_not_found',
  'reindex_invalid',
  'reindex_conflict',
  'embedder_unavailable',
  'storage_full',
];
const CHANGE_CODES: readonly ErrorCode[] = ['reindex_job_not_found', 'reindex_state_conflict', 'storage_full'];

const start = {
  tag,
  description:
    'Texts are embedded anew into a space beside the one that is searched, which takes over in one step when it has all; or, with `compact`, memory and graph are made anew. Documents written meanwhile are in both. Progress is durable: a job goes on after a restart.',
  request: {
    required: true,
    content: jsonRequest('ReindexBody', {
      model: {
        embedder_type: 'onnx',
        embed_model: 'all-MiniLM-L6-v2',
        gate: { min_overlap: 0.8, last_n: 100 },
        keep_previous_seconds: 3600,
      },
      compact: { compact: true },
    }),
  },
  answer: jsonAnswer('ReindexJob', { ...JOB, status: 'queued', completed_chunks: 0, started_at: null }),
  codes: START_CODES,
};
const list = { tag, answer: jsonAnswer('ReindexJobList', { jobs: [JOB], count: 1 }) };
const cancel = {
  tag,
  description: 'What was built goes; the collection stays as it is.',
  answer: jsonAnswer('ReindexJob', CANCELLED),
  codes: CHANGE_CODES,
};
const rollBack = {
  tag,
  description:
    'While the space before the last reindex is kept (`keep_previous_seconds`). What was written since is in both.',
  answer: jsonAnswer('RolledBack', ROLLED_BACK),
  codes: ['collection_not_found', 'reindex_conflict', 'reindex_state_conflict', 'storage_full'] as readonly ErrorCode[],
};
/** One event, as the format of the HTML standard has it: `data` is JSON in a string. */
const event = (type: EventType, contentSchema: Schema): Schema => ({
  type: 'object',
  required: ['id', 'event', 'data'],
  properties: {
    id: { type: 'string', pattern: '^\\d+$' },
    event: { const: type },
    data: { type: 'string', contentMediaType: 'application/json', contentSchema },
  },
});

const COUNT: Schema = { type: 'integer', minimum: 0 };

/** Events come one after the other; OpenAPI 3.1 has no words for that, so the schema is that of each. */
const EVENT: Schema = {
  description: 'Each event of the stream.',
  oneOf: [
    event('job', {
      type: 'object',
      required: ['job_id', 'tenant', 'collection', 'status', 'total_chunks', 'completed_chunks'],
    }),
    event('ingest', {
      type: 'object',
      required: ['documents', 'chunks', 'docids'],
      properties: { documents: COUNT, chunks: COUNT, docids: { type: 'array', items: { type: 'string' } } },
    }),
    event('delete', {
      type: 'object',
      required: ['docid', 'chunks'],
      properties: { docid: { type: 'string' }, chunks: COUNT },
    }),
    event('collection', {
      type: 'object',
      required: ['change', 'tenant', 'collection'],
      properties: { change: { enum: ['settings', 'switched', 'deleted'] } },
    }),
    event('reset', { type: 'object' }),
  ],
};
const INGESTED = { id: '1767606131902001', event: 'ingest', data: '{"documents":1,"chunks":4,"docids":["nemo"]}' };

export const REINDEX_OPERATIONS = {
  startReindex: { ...start, summary: 'Rebuild the vectors of a collection' },
  startReindexAsAdmin: { ...start, summary: 'Rebuild the vectors of a collection of any tenant' },
  listReindexJobs: {
    ...list,
    summary: 'The reindex jobs of a collection',
    description: 'Newest first.',
    codes: ['collection_not_found'],
  },
  listAllReindexJobs: { ...list, summary: 'The reindex jobs of all tenants', description: 'Newest first.' },
  getReindexJob: {
    tag,
    summary: 'A reindex job of a collection',
    answer: jsonAnswer('ReindexJob', JOB),
    codes: ['reindex_job_not_found'],
  },
  getReindexJobAsAdmin: {
    tag,
    summary: 'A reindex job of any tenant',
    answer: jsonAnswer('ReindexJob', JOB),
    codes: ['reindex_job_not_found'],
  },
  cancelReindex: { ...cancel, summary: 'Cancel a reindex job' },
  cancelReindexAsAdmin: { ...cancel, summary: 'Cancel a reindex job of any tenant' },
  pauseReindex: {
    tag,
    summary: 'Pause a reindex job',
    description: 'When the batch that is under way is on disk.',
    answer: jsonAnswer('ReindexJob', PAUSED),
    codes: CHANGE_CODES,
  },
  resumeReindex: {
    tag,
    summary: 'Resume a paused or failed reindex job',
    description: 'From the batches that are on disk.',
    answer: jsonAnswer('ReindexJob', { ...JOB, status: 'queued' }),
    codes: [...CHANGE_CODES, 'reindex_conflict'],
  },
  rollBack: { ...rollBack, summary: 'Go back to the space before the last reindex' },
  rollBackAsAdmin: { ...rollBack, summary: 'Go back to the space before the last reindex, in any tenant' },
  collectionEvents: {
    tag: 'Collections',
    summary: 'Follow what happens to a collection',
    description:
      'Server-sent events `job` (the record of a reindex job), `ingest`, `delete` and `collection`. Ids grow; `Last-Event-ID` goes on behind one, with an event `reset` first where some events behind it are not kept any more. A reader that falls behind is cut off.',
    query: [
      { name: 'last_event_id', description: 'In place of the header `Last-Event-ID`.', schema: { type: 'string' } },
    ],
    answer: { 'text/event-stream': { schema: EVENT, examples: { ingest: INGESTED } } },
    codes: ['collection_not_found'],
  },
} satisfies Record<string, Operation>;
