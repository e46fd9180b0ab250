// Reindex jobs, and going back to the space before: bodies and routes.
import typia, { type tags } from 'typia';
import type { ErrorCode } from './errors.js';
import type { KEEP_SECONDS_MAX, QUERIES_PAGE_MAX } from './limits.js';
import { ADMIN_COLLECTION, COLLECTION, jsonRoute, routes } from './route.js';

/** What the new space has to show before searches see it. */
export interface GateBody {
  /** Share of the hits of today that the new space has to find too, on average, from 0 to 1. */
  min_overlap: number & tags.Minimum<0> & tags.Maximum<1>;
  /** How many of the latest logged searches by text are made on both. */
  last_n: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof QUERIES_PAGE_MAX>;
}

/** All optional, but something has to be asked for: an embedder, or `compact`. */
export interface ReindexBody {
  /** Selector, as in the create body. Not together with the detailed fields. */
  embedder?: string | null;
  embedder_type?: string | null;
  embed_model?: string | null;
  embedder_config?: Record<string, unknown> | null;
  /** The same embedder: vectors are copied, and memory and graph are new. */
  compact?: boolean | null;
  gate?: GateBody | null;
  /** How long the old space is kept for a rollback; 0 where it is left out. */
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

/** Milliseconds of a search. */
export interface GateLatency {
  mean: number;
  max: number;
}

export interface GateResult {
  /** How many searches were made on both. */
  queries: number;
  /** Mean share of the hits that both have; null where there was no search to make. */
  overlap: number | null;
  /** Mean distance of the ranks of a hit that both have; null where there is none. */
  rank_shift: number | null;
  /** null where there was no search to make. */
  live_ms: GateLatency | null;
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
  /** ISO 8601, as all times. */
  created_at: string;
  updated_at: string;
  started_at: string | null;
  finished_at: string | null;
  /** Code and meaning, where the status is failed. */
  error?: string;
  compact?: true;
  gate?: { min_overlap: number; last_n: number };
  gate_result?: GateResult;
  keep_previous_seconds: number;
  /**
   * Once all are copied: chunks of the new space that the graph does not have yet. Searches see the space when it has
   * them.
   */
  unlinked_chunks?: number;
  /** Chunks a second, while it runs. */
  rate?: number;
  /** At this rate. */
  eta_seconds?: number;
}

/** As it stands in a list, without the common fields of an answer. */
export interface ListedReindexJob extends ReindexJob {}

/** Newest first. */
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
    'Texts are embedded anew into a space beside the one that is searched, which takes over in one step when it has all; or, with `compact`, memory and graph are made anew. Documents written meanwhile are in both. Progress is durable: a job goes on after a restart.',
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
  description: 'What was built goes; the collection stays as it is.',
  answer: { ...job, example: CANCELLED },
  codes: CHANGE_CODES,
} as const;

const goBack = {
  method: 'POST',
  tag,
  description:
    'While the space before the last reindex is kept (`keep_previous_seconds`). What was written since is in both.',
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
    summary: 'Go back to the space before the last reindex, in any tenant',
  }),
  listAllReindexJobs: jsonRoute({
    method: 'GET',
    path: ADMIN_JOBS,
    access: 'admin',
    tag,
    summary: 'The reindex jobs of all tenants',
    description: 'Newest first.',
    answer: jobs,
  }),
  getReindexJobAsAdmin: jsonRoute({
    method: 'GET',
    path: `${ADMIN_JOBS}/{job_id}`,
    access: 'admin',
    tag,
    summary: 'A reindex job of any tenant',
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
    description: 'When the batch that is under way is on disk.',
    answer: { ...job, example: PAUSED },
    codes: CHANGE_CODES,
  }),
  resumeReindex: jsonRoute({
    method: 'POST',
    path: `${ADMIN_JOBS}/{job_id}/resume`,
    access: 'admin',
    tag,
    summary: 'Resume a paused or failed reindex job',
    description: 'From the batches that are on disk.',
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
    summary: 'The reindex jobs of a collection',
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
    summary: 'A reindex job of a collection',
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
    summary: 'Go back to the space before the last reindex',
  }),
});
