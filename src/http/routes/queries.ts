// The query log: a collection's searches, one of them, and its replay; the latter two for the admin in any tenant.
// Handlers on the front thread. The route table (routes.ts) names them.
import typia from 'typia';
import type { ErrorCode } from '../../api/errors.js';
import { QUERIES_PAGE_DEFAULT } from '../../api/limits.js';
import type {
  QueryAnswer,
  QueryEntry,
  QueryList,
  QueryListParameters,
  QuerySummary,
  ReplayAnswer,
} from '../../api/queries.js';
import { withFaultCode } from '../../service/fault-code.js';
import {
  type LoggedSearch,
  entryOf,
  getAnyQuery,
  getQuery,
  listQueries,
  replayQuery,
} from '../../service/query-log/queries.js';
import type { Services } from '../../service/services.js';
import { fitting } from '../json-body.js';
import { type Operation, QUERIES_PAGE, jsonAnswer } from '../openapi/operation.js';
import { COLLECTION } from '../../api/route.js';
import {
  type Handler,
  READ,
  READ_ONE,
  type Reply,
  type Request,
  type ListedRoute,
  admin,
  collectionOf,
  get,
  numbersIn,
  param,
  post,
} from '../route.js';
import { SEARCH_ANSWER, replayReply, searcherOf } from './search.js';

const validatePage = typia.createValidate<QueryListParameters>();

const getQueries =
  (context: Services['queries']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const { limit, offset = 0, cursor } = fitting(validatePage(numbersIn(request.query, 'limit', 'offset')), 'query');
    const page = { limit: limit ?? QUERIES_PAGE_DEFAULT, offset, ...(cursor !== undefined && { before: cursor }) };
    const { queries, next } = await listQueries(context, tenant, collection, page);
    const more = limit !== undefined && next !== undefined && { next_cursor: next };
    const json: QueryList = { tenant, collection, queries, count: queries.length, ...more };
    return { status: 200, json };
  };

const getOneQuery =
  (context: Services['queries']): Handler =>
  async (request) =>
    queryReply(await getQuery(context, ...collectionOf(request), param(request, 'query_id')));

const getOneQueryAsAdmin =
  (context: Services['queries']): Handler =>
  async (request) =>
    queryReply(await getAnyQuery(context, param(request, 'query_id')));

function queryReply(found: LoggedSearch): Reply {
  const json: QueryAnswer = { query: entryOf(found) };
  return { status: 200, json };
}

const postReplay =
  (context: Services['queries']): Handler =>
  async (request) =>
    replay(context, request, await getQuery(context, ...collectionOf(request), param(request, 'query_id')));

const postReplayAsAdmin =
  (context: Services['queries']): Handler =>
  async (request) =>
    replay(context, request, await getAnyQuery(context, param(request, 'query_id')));

async function replay(context: Services['queries'], request: Request, found: LoggedSearch): Promise<Reply> {
  const result = await withFaultCode('search_failed', () => replayQuery(context, searcherOf(request), found));
  return replayReply(found, result);
}

// The query log: of a collection, and of any tenant for the admin.
// Called by routes.ts at start.

const QUERIES = `${COLLECTION}/queries`;
const QUERY = `${QUERIES}/{query_id}`;
const ADMIN_QUERY = '/v1/admin/queries/{query_id}';
const REPLAY = [200, 401, 403, 404, 422, 429, 500, 503];

export function queryRoutes(context: Services['queries']): ListedRoute[] {
  return [
    // Everybody's searches stand there: who may search may not read what others search.
    { ...get('listQueries', QUERIES, READ, getQueries(context)), scope: 'manage' },
    { ...get('getQuery', QUERY, READ_ONE, getOneQuery(context)), scope: 'manage' },
    { ...post('replayQuery', `${QUERY}/replay`, REPLAY, postReplay(context)), body: 'none', scope: 'manage' },
    admin(get('getQueryAsAdmin', ADMIN_QUERY, [200, 401, 403, 404, 422, 500], getOneQueryAsAdmin(context))),
    admin({ ...post('replayQueryAsAdmin', `${ADMIN_QUERY}/replay`, REPLAY, postReplayAsAdmin(context)), body: 'none' }),
  ];
}

// Entries of the query log's operations.
// Read by ../operations.ts. Constants.

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
    answer: jsonAnswer('ReplayAnswer', REPLAY_EXAMPLE),
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
    answer: jsonAnswer('ReplayAnswer', REPLAY_EXAMPLE),
    codes: REPLAY_CODES,
  },
} satisfies Record<string, Operation>;
