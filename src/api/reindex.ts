// Bodies of the reindex endpoints. Types only.
// Read by the handlers, the OpenAPI document, the store of jobs and the client.
import type { tags } from 'typia';
import type { KEEP_SECONDS_MAX, QUERIES_PAGE_MAX } from './limits.js';

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
