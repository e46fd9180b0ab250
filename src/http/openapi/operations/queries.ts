// Entries of the query log's operations.
// Read by ../operations.ts. Constants.
import type { QueryEntry, QuerySummary, ReplayAnswer } from '../../../contract/api/queries.js';
import type { ErrorCode } from '../../../contract/errors.js';
import { jsonAnswer, type Operation } from '../operation.js';
import { QUERIES_PAGE } from '../parameters.js';
import { SEARCH_ANSWER } from './search.js';

const SUMMARY: QuerySummary = {
  query_id: '0198c2f1-6a07-7b52-8c11-90d3f3f5a1b2',
  query_text: 'submarine captain',
  k: 3,
  executed_at: '2026-01-05T09:31:02.114Z',
  result_count: 1,
  latency_ms: 1.9,
  request_id: '0198c2f1-6a05-7310-b7d2-4c0e8a6f1d39',
};

const ENTRY: QueryEntry = {
  ...SUMMARY,
  tenant: 'acme',
  collection: 'docs',
  actor: 'web',
  result_ids: ['nemo::chunk_0'],
  filters: { lang: 'en' },
  mode: 'vector',
  timing: SEARCH_ANSWER.timing,
};

const REPLAY: ReplayAnswer = {
  original_query_id: SUMMARY.query_id,
  original_result_count: 1,
  matches: SEARCH_ANSWER.matches,
  mode: 'vector',
  original_latency_ms: 1.9,
  replay_query_id: '0198c2f2-01b3-7f6e-9a20-6d5e4c3b2a19',
  timing: SEARCH_ANSWER.timing,
};

const REPLAY_RULES =
  'With its original text or vector, mode, filters, `k`, fusion, reranker and what hits were to tell, on the documents of now. It is logged as a new entry, whose `replay_of` names the original.';
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

export const QUERY_OPERATIONS = {
  listQueries: {
    tag: 'Logged searches',
    summary: 'The latest searches of a collection',
    description: 'Most recent first, without what they found. A collection that does not exist has none.',
    query: QUERIES_PAGE,
    answer: jsonAnswer('QueryList', { tenant: 'acme', collection: 'docs', queries: [SUMMARY], count: 1 }),
  },
  getQuery: {
    tag: 'Logged searches',
    summary: 'A logged search, with the ids of what it found',
    answer: jsonAnswer('QueryAnswer', { query: ENTRY }),
    codes: ['query_not_found'],
  },
  replayQuery: {
    tag: 'Logged searches',
    summary: 'Search again as a logged search did',
    description: REPLAY_RULES,
    answer: jsonAnswer('ReplayAnswer', REPLAY),
    codes: REPLAY_CODES,
  },
  getQueryAsAdmin: {
    tag: 'Logged searches',
    summary: 'A logged search of any tenant',
    answer: jsonAnswer('QueryAnswer', { query: ENTRY }),
    codes: ['query_not_found'],
  },
  replayQueryAsAdmin: {
    tag: 'Logged searches',
    summary: 'Search again as a logged search of any tenant did',
    description: REPLAY_RULES,
    answer: jsonAnswer('ReplayAnswer', REPLAY),
    codes: REPLAY_CODES,
  },
} satisfies Record<string, Operation>;
