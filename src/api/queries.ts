// What goes over the wire of the query log's endpoints. Types only.
import type { tags } from 'typia';
import type { QUERIES_PAGE_MAX } from './limits.js';
import type { SearchTiming } from './collections.js';
import type { SearchMode } from './choices.js';
import type { Whole } from './common.js';
import type { ContentFilter, Fusion, LoggedParams, Rerank, SearchHit } from './search.js';

/** The query string of the listing. */
export interface QueryListParameters {
  limit?: Whole & tags.Minimum<1> & tags.Maximum<typeof QUERIES_PAGE_MAX>;
  /** How many of the newest to leave out. */
  offset?: Whole;
  /** `next_cursor` of the page before; `offset` then counts from there. */
  cursor?: string & tags.Format<'uuid'>;
}

export interface QuerySummary {
  query_id: string;
  query_text: string;
  k: number;
  /** ISO 8601. */
  executed_at: string;
  result_count: number;
  latency_ms?: number;
  /** The query that this entry is a replay of. */
  replay_of?: string;
  request_id?: string;
}

export interface QueryEntry extends QuerySummary, LoggedParams {
  tenant: string;
  collection: string;
  /** Who ran the search. */
  actor: string;
  /** Chunk ids in rank order. */
  result_ids: string[];
  filters?: Record<string, unknown>;
  content_filter?: ContentFilter;
  mode?: SearchMode;
  /** Its hits were ranked by words alone. Absent otherwise. */
  degraded?: true;
  include_common?: boolean;
  common_tenant?: string;
  common_collection?: string;
  rerank?: Rerank;
  fusion?: Fusion;
  timing?: SearchTiming;
}

/** Most recent first. */
export interface QueryList {
  tenant: string;
  collection: string;
  queries: QuerySummary[];
  count: number;
  /** Where the next page begins; only with `limit`, and only where there is one. */
  next_cursor?: string;
}

export interface QueryAnswer {
  query: QueryEntry;
}

export interface ReplayAnswer {
  original_query_id: string;
  original_result_count: number;
  matches: SearchHit[];
  mode?: SearchMode;
  /** Ranked by words alone: the embedder did not answer. Absent otherwise. */
  degraded?: true;
  original_latency_ms?: number;
  /** Absent when logging is off. */
  replay_query_id?: string;
  timing?: SearchTiming;
}
