// Logged searches and their replay: bodies and routes.
import typia, { type tags } from 'typia';
import { QUERIES_PAGE_DEFAULT, QUERIES_PAGE_MAX } from './limits.js';
import {
  type ContentFilter,
  type FusedQuery,
  type Fusion,
  type Like,
  type LoggedParams,
  type Rerank,
  SEARCH_ANSWER,
  type SearchHit,
  type SearchTiming,
  type Sort,
} from './search.js';
import { SEARCH_MODES, type SearchMode } from './choices.js';
import type { Whole } from './common.js';
import type { ErrorCode } from './errors.js';
import { CURSOR } from './parameters.js';
import { COLLECTION, json, jsonRoute, ownRoute, routes } from './route.js';

/** Query parameters of the listing. */
export interface QueryListParameters {
  limit?: Whole & tags.Minimum<1> & tags.Maximum<typeof QUERIES_PAGE_MAX>;
  /** How many of the newest entries to skip. */
  offset?: Whole;
  /** `next_cursor` of the previous page; `offset` then counts from there. */
  cursor?: string & tags.Format<'uuid'>;
  /** Only searches whose text has this, in any case. */
  q?: string & tags.MinLength<1> & tags.MaxLength<256>;
  mode?: SearchMode;
  /** Only searches of this caller. */
  actor?: string & tags.MinLength<1> & tags.MaxLength<256>;
}

export interface QuerySummary {
  query_id: string;
  query_text: string;
  k: number;
  mode: SearchMode;
  /** Name of the caller. */
  actor: string;
  /** ISO 8601 time. */
  executed_at: string;
  result_count: number;
  latency_ms?: number;
  /** Id of the logged search that this one replays. */
  replay_of?: string;
  request_id?: string;
  /**
   * How many searches of the collection the entry stands for, if not for itself alone: while more searches come than the
   * log takes, only some are logged. Counts of searches are sums of this number, with 1 where it is absent.
   */
  sampled?: number;
}

export interface QueryEntry extends QuerySummary, LoggedParams {
  tenant: string;
  collection: string;
  /** Chunk ids in rank order. */
  result_ids: string[];
  filters?: Record<string, unknown>;
  content_filter?: ContentFilter;
  /** True if hits were ranked by keywords only, because the embedder did not answer. Absent otherwise. */
  degraded?: true;
  include_common?: boolean;
  common_tenant?: string;
  common_collection?: string;
  rerank?: Rerank;
  fusion?: Fusion;
  like?: Like;
  /** The vectors of queries are in `v_base64`. */
  queries?: FusedQuery[];
  sort?: Sort;
  timing?: SearchTiming;
}

/** Logged searches, most recent first. */
export interface QueryList {
  tenant: string;
  collection: string;
  queries: QuerySummary[];
  count: number;
  /** Cursor of the next page. Present only with `limit`, and only if there is a next page. */
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
  /** True if hits were ranked by keywords only, because the embedder did not answer. Absent otherwise. */
  degraded?: true;
  original_latency_ms?: number;
  /** Id of the replay in the query log; absent if logging is off. */
  replay_query_id?: string;
  timing?: SearchTiming;
}

const SUMMARY: QuerySummary = {
  query_id: '0198c2f1-6a07-7b52-8c11-90d3f3f5a1b2',
  query_text: 'submarine captain',
  k: 3,
  mode: 'vector',
  actor: 'web',
  executed_at: '2026-01-05T09:31:02.114Z',
  result_count: 1,
  latency_ms: 1.9,
  request_id: '0198c2f1-6a05-7310-b7d2-4c0e8a6f1d39',
};

const ENTRY: QueryEntry = {
  ...SUMMARY,
  tenant: 'acme',
  collection: 'docs',
  result_ids: ['nemo::chunk_0'],
  filters: { lang: 'en' },
  timing: SEARCH_ANSWER.timing,
};

const REPLAY_EXAMPLE: ReplayAnswer = {
  original_query_id: SUMMARY.query_id,
  original_result_count: 1,
  matches: SEARCH_ANSWER.matches,
  mode: 'vector',
  original_latency_ms: 1.9,
  replay_query_id: '0198c2f2-01b3-7f6e-9a20-6d5e4c3b2a19',
  timing: SEARCH_ANSWER.timing,
};

const REPLAY_RULES =
  "Repeats the search with its original text or vector, mode, filters, `k`, fusion, reranker and hit options on today's documents. The replay is logged as a new entry whose `replay_of` is the id of the original.";
const REPLAY_CODES: readonly ErrorCode[] = [
  'query_not_found',
  'search_mode_disabled',
  'vectors_only',
  'dim_mismatch',
  'incompatible_embedder_config',
  'embedder_unavailable',
  'invalid_rerank',
  'reranker_unavailable',
  'search_failed',
];

const tag = 'Logged searches';
/** The log contains the searches of all callers, so the permission to search does not include reading it. */
const own = { access: 'tenant', scope: 'manage', tag } as const;
const admin = { access: 'admin', tag } as const;
const query = { schema: typia.json.schema<QueryAnswer>(), example: { query: ENTRY } };

const replay = {
  method: 'POST',
  description: REPLAY_RULES,
  answer: json(typia.json.schema<ReplayAnswer>(), { answer: REPLAY_EXAMPLE }),
  codes: REPLAY_CODES,
} as const;

export const QUERY_ROUTES = routes({
  listQueries: jsonRoute({
    ...own,
    method: 'GET',
    path: `${COLLECTION}/queries`,
    summary: 'List the latest searches of a collection',
    description:
      'Most recent first, without their hits. The list is empty for a collection that does not exist. An entry with `sampled` stands for so many searches. With `q`, `mode` or `actor`, at most 10,000 entries are looked through for a page: it may have fewer than `limit`, or none, and a `next_cursor` that goes on behind them.',
    query: [
      {
        name: 'limit',
        description: 'Maximum number of entries.',
        schema: { type: 'integer', minimum: 1, maximum: QUERIES_PAGE_MAX, default: QUERIES_PAGE_DEFAULT },
      },
      {
        name: 'offset',
        description: 'Number of the latest entries to skip.',
        schema: { type: 'integer', minimum: 0, default: 0 },
      },
      { ...CURSOR, schema: { type: 'string', format: 'uuid' } },
      {
        name: 'q',
        description: 'Only searches whose text has this, in any case.',
        schema: { type: 'string', minLength: 1, maxLength: 256 },
      },
      { name: 'mode', description: 'Only searches of this mode.', schema: { type: 'string', enum: [...SEARCH_MODES] } },
      {
        name: 'actor',
        description: 'Only searches of this caller.',
        schema: { type: 'string', minLength: 1, maxLength: 256 },
      },
    ],
    checkQuery: typia.createValidate<QueryListParameters>(),
    answer: {
      schema: typia.json.schema<QueryList>(),
      example: { tenant: 'acme', collection: 'docs', queries: [SUMMARY], count: 1 },
    },
  }),
  getQuery: jsonRoute({
    ...own,
    method: 'GET',
    path: `${COLLECTION}/queries/{query_id}`,
    summary: 'Get a logged search with the ids of its hits',
    answer: query,
    codes: ['query_not_found'],
  }),
  replayQuery: ownRoute({
    ...own,
    ...replay,
    path: `${COLLECTION}/queries/{query_id}/replay`,
    summary: 'Replay a logged search',
  }),
  getQueryAsAdmin: jsonRoute({
    ...admin,
    method: 'GET',
    path: '/v1/admin/queries/{query_id}',
    summary: 'Get a logged search of any tenant',
    answer: query,
    codes: ['query_not_found'],
  }),
  replayQueryAsAdmin: ownRoute({
    ...admin,
    ...replay,
    path: '/v1/admin/queries/{query_id}/replay',
    isLimited: true,
    summary: 'Replay a logged search of any tenant',
  }),
});
