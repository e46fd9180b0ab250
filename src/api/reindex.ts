// Reindex jobs and rollback to the previous vector space: bodies and routes.
import typia, { type tags } from 'typia';
import type { ErrorCode } from './errors.js';
import type { KEEP_SECONDS_MAX, QUERIES_PAGE_MAX, SHARDS_MAX } from './limits.js';
import { ADMIN_COLLECTION, COLLECTION, jsonRoute, routes } from './route.js';

/** Quality that the new vector space must reach before searches switch to it. */
export interface GateBody {
  /** Mean share of today's hits that the new space must also find, from 0 to 1. */
  min_overlap: number & tags.Minimum<0> & tags.Maximum<1>;
  /** How many of the latest logged text searches to run on both spaces. */
  last_n: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof QUERIES_PAGE_MAX>;
}

/** Target of the reindex. All fields are optional, but an embedder, `compact` or `partitions` is required. */
export interface ReindexBody {
  /**
   * Embedder selector, as for a new collection. Cannot be combined with the `embedder_type`, `embed_model` and
   * `embedder_config` fields.
   */
  embedder?: string | null;
  embedder_type?: string | null;
  embed_model?: string | null;
  embedder_config?: Record<string, unknown> | null;
  /** Keep the embedder: copies the vectors and rebuilds memory and graph. */
  compact?: boolean | null;
  /**
   * Keep the embedder: copies the vectors to this number of shards, at most `storage.partitions`. Cannot be combined with
   * an embedder, `compact` and `keep_previous_seconds`.
   */
  partitions?: (number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof SHARDS_MAX>) | null;
  gate?: GateBody | null;
  /** Seconds to keep the previous space for a rollback. Default: 0. */
  keep_previous_seconds?: (number & tags.Type<'uint32'> & tags.Maximum<typeof KEEP_SECONDS_MAX>) | null;
}

export type ReindexStatus =
  | 'queued'
  | 'running'
  | 'pausing'
  | 'paused'
  | 'committing'
  | 'cancelling'
  | 'cancelled'
  | 'failed'
  | 'succeeded';

export interface ReindexTarget {
  embed_model: string;
  embedder_type: string;
  embedder_config?: Record<string, unknown>;
}

/** Search latency in milliseconds. */
export interface GateLatency {
  mean: number;
  max: number;
}

export interface GateResult {
  /** Number of searches run on both spaces. */
  queries: number;
  /** Mean share of hits that both spaces find; null if there were no searches to compare. */
  overlap: number | null;
  /** Mean difference between the ranks of a hit that both spaces find; null if there is none. */
  rank_shift: number | null;
  /** Null if there were no searches to compare. */
  live_ms: GateLatency | null;
  shadow_ms: GateLatency | null;
  /**
   * The same as `shadow_ms`. Removed in release 0.11.0.
   *
   * @deprecated
   */
  staged_ms: GateLatency | null;
  passed: boolean;
}

export interface ReindexJob {
  job_id: string;
  tenant: string;
  collection: string;
  status: ReindexStatus;
  target: ReindexTarget;
  total_chunks: number;
  completed_chunks: number;
  /** ISO 8601, like all times. */
  created_at: string;
  updated_at: string;
  started_at: string | null;
  finished_at: string | null;
  /** Error code and message if `status` is `failed`. */
  error?: string;
  compact?: true;
  /** The number of shards over which the job spreads the collection. */
  partitions?: number;
  gate?: { min_overlap: number; last_n: number };
  gate_result?: GateResult;
  keep_previous_seconds: number;
  /**
   * After all chunks are copied: chunks that the graph of the new space does not contain yet. Searches switch to the
   * new space when it contains all.
   */
  unindexed_chunks?: number;
  /**
   * The same as `unindexed_chunks`. Removed in release 0.11.0.
   *
   * @deprecated
   */
  unlinked_chunks?: number;
  /** Chunks per second, while the job runs. */
  rate?: number;
  /** Estimated remaining seconds at the current rate. */
  eta_seconds?: number;
}

/** A job in a list, without the common fields of an answer. */
export interface ListedReindexJob extends ReindexJob {}

/** Jobs, newest first. */
export interface ReindexJobList {
  jobs: ListedReindexJob[];
  count: number;
}

export interface RolledBack {
  tenant: string;
  collection: string;
  embed_model: string;
  embedder_type: string;
  embedder_config?: Record<string, unknown>;
  vector_space_key: string;
}

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

const CHANGE_CODES: readonly ErrorCode[] = ['reindex_job_not_found', 'reindex_state_conflict', 'storage_full'];

const tag = 'Reindex jobs';
const job = { schema: typia.json.schema<ReindexJob>(), example: JOB };
const jobs = { schema: typia.json.schema<ReindexJobList>(), example: { jobs: [JOB], count: 1 } };

const start = {
  method: 'POST',
  keeps400: true,
  tag,
  description:
    'Embeds all texts again into a new vector space while the old one is searched, and switches in one step when the new one is complete. With `compact`, only memory and graph are rebuilt. Documents written meanwhile are in both. Progress is durable: a job continues after a restart.',
  body: {
    check: typia.createValidateEquals<ReindexBody>(),
    schema: typia.json.schema<ReindexBody>(),
    required: true,
    orNothing: true,
    examples: {
      model: {
        embedder_type: 'onnx',
        embed_model: 'all-MiniLM-L6-v2',
        gate: { min_overlap: 0.8, last_n: 100 },
        keep_previous_seconds: 3600,
      },
      compact: { compact: true },
    },
  },
  answer: { ...job, example: { ...JOB, status: 'queued', completed_chunks: 0, started_at: null } },
  codes: ['collection_not_found', 'reindex_invalid', 'reindex_conflict', 'embedder_unavailable', 'storage_full'],
} as const;

const cancel = {
  method: 'DELETE',
  tag,
  description: 'The unfinished space is deleted; the collection stays as it is.',
  answer: { ...job, example: CANCELLED },
  codes: CHANGE_CODES,
} as const;

const goBack = {
  method: 'POST',
  tag,
  description:
    'Possible while the previous space is kept (`keep_previous_seconds`). It has all documents written since.',
  answer: { schema: typia.json.schema<RolledBack>(), example: ROLLED_BACK },
  codes: ['collection_not_found', 'reindex_conflict', 'reindex_state_conflict', 'storage_full'],
} as const;

const ADMIN_JOBS = '/v1/admin/reindex';

export const REINDEX_ROUTES = routes({
  startReindexAsAdmin: jsonRoute({
    ...start,
    path: `${ADMIN_COLLECTION}/reindex`,
    access: 'admin',
    summary: 'Rebuild the vectors of a collection of any tenant',
    success: 202,
  }),
  rollBackAsAdmin: jsonRoute({
    ...goBack,
    path: `${ADMIN_COLLECTION}/rollback`,
    access: 'admin',
    summary: 'Roll back the last reindex of a collection of any tenant',
  }),
  listAllReindexJobs: jsonRoute({
    method: 'GET',
    path: ADMIN_JOBS,
    access: 'admin',
    tag,
    summary: 'List the reindex jobs of all tenants',
    description: 'Newest first.',
    answer: jobs,
  }),
  getReindexJobAsAdmin: jsonRoute({
    method: 'GET',
    path: `${ADMIN_JOBS}/{job_id}`,
    access: 'admin',
    tag,
    summary: 'Get a reindex job of any tenant',
    answer: job,
    codes: ['reindex_job_not_found'],
  }),
  cancelReindexAsAdmin: jsonRoute({
    ...cancel,
    path: `${ADMIN_JOBS}/{job_id}`,
    access: 'admin',
    summary: 'Cancel a reindex job of any tenant',
  }),
  pauseReindex: jsonRoute({
    method: 'POST',
    path: `${ADMIN_JOBS}/{job_id}/pause`,
    access: 'admin',
    tag,
    summary: 'Pause a reindex job',
    description: 'The job pauses when its current batch is on disk.',
    answer: { ...job, example: PAUSED },
    codes: CHANGE_CODES,
  }),
  resumeReindex: jsonRoute({
    method: 'POST',
    path: `${ADMIN_JOBS}/{job_id}/resume`,
    access: 'admin',
    tag,
    summary: 'Resume a paused or failed reindex job',
    description: 'The job continues after the batches that are on disk.',
    answer: { ...job, example: { ...JOB, status: 'queued' } },
    codes: [...CHANGE_CODES, 'reindex_conflict'],
  }),
  startReindex: jsonRoute({
    ...start,
    path: `${COLLECTION}/reindex`,
    access: 'tenant',
    scope: 'manage',
    summary: 'Rebuild the vectors of a collection',
  }),
  listReindexJobs: jsonRoute({
    method: 'GET',
    path: `${COLLECTION}/reindex`,
    access: 'tenant',
    scope: 'search',
    tag,
    summary: 'List the reindex jobs of a collection',
    description: 'Newest first.',
    answer: jobs,
    codes: ['collection_not_found'],
  }),
  getReindexJob: jsonRoute({
    method: 'GET',
    path: `${COLLECTION}/reindex/{job_id}`,
    access: 'tenant',
    scope: 'search',
    tag,
    summary: 'Get a reindex job of a collection',
    answer: job,
    codes: ['reindex_job_not_found'],
  }),
  cancelReindex: jsonRoute({
    ...cancel,
    path: `${COLLECTION}/reindex/{job_id}`,
    access: 'tenant',
    scope: 'manage',
    keeps400: true,
    summary: 'Cancel a reindex job',
  }),
  rollBack: jsonRoute({
    ...goBack,
    path: `${COLLECTION}/rollback`,
    access: 'tenant',
    scope: 'manage',
    summary: 'Roll back the last reindex of a collection',
  }),
});
