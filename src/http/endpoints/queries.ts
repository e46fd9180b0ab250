// The query log: a collection's searches, one of them, and its replay; the latter two for the admin in any tenant.
// Handlers on the front thread. The route table (routes.ts) names them.
import typia from 'typia';
import type { QueryAnswer, QueryList, QueryListParameters } from '../../contract/api/queries.js';
import { QUERIES_PAGE_DEFAULT } from '../../contract/limits.js';
import type { Context } from '../../service/context.js';
import { withFaultCode } from '../../service/fault-code.js';
import { entryOf, getAnyQuery, getQuery, listQueries, type LoggedSearch } from '../../service/queries.js';
import { replayQuery } from '../../service/replay-query.js';
import { numbersIn } from '../query-values.js';
import type { Handler, Reply, Request } from '../route.js';
import { fitting } from '../validation.js';
import { collectionOf, param } from './path.js';
import { replayReply, searcherOf } from './search-reply.js';

const validatePage = typia.createValidate<QueryListParameters>();

export const getQueries =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const { limit, offset = 0, cursor } = fitting(validatePage(numbersIn(request.query, 'limit', 'offset')), 'query');
    const page = { limit: limit ?? QUERIES_PAGE_DEFAULT, offset, ...(cursor !== undefined && { before: cursor }) };
    const { queries, next } = await listQueries(context, tenant, collection, page);
    const more = limit !== undefined && next !== undefined && { next_cursor: next };
    const json: QueryList = { tenant, collection, queries, count: queries.length, ...more };
    return { status: 200, json };
  };

export const getOneQuery =
  (context: Context): Handler =>
  async (request) =>
    queryReply(await getQuery(context, ...collectionOf(request), param(request, 'query_id')));

export const getOneQueryAsAdmin =
  (context: Context): Handler =>
  async (request) =>
    queryReply(await getAnyQuery(context, param(request, 'query_id')));

function queryReply(found: LoggedSearch): Reply {
  const json: QueryAnswer = { query: entryOf(found) };
  return { status: 200, json };
}

export const postReplay =
  (context: Context): Handler =>
  async (request) =>
    replay(context, request, await getQuery(context, ...collectionOf(request), param(request, 'query_id')));

export const postReplayAsAdmin =
  (context: Context): Handler =>
  async (request) =>
    replay(context, request, await getAnyQuery(context, param(request, 'query_id')));

async function replay(context: Context, request: Request, found: LoggedSearch): Promise<Reply> {
  const result = await withFaultCode('search_failed', () => replayQuery(context, searcherOf(request), found));
  return replayReply(found.query, result);
}
