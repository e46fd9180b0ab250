// Replays of logged searches: of a collection, and of any tenant for the admin. Runs on the main thread.
import type { QUERY_ROUTES } from '../../api/queries.js';
import { withErrorCode } from '../../service/use-case.js';
import { type LoggedSearch, getAnyQuery, getQuery, replayQuery } from '../../service/query-log/queries.js';
import type { Services } from '../../service/services.js';
import { type OwnHandlers, type Reply, type Request, collectionOf, param } from '../route.js';
import { replayReply, searcherOf } from './search.js';

export const queryHandlers = (context: Services['queries']): OwnHandlers<typeof QUERY_ROUTES> => ({
  replayQuery: async (request) =>
    replay(context, request, await getQuery(context, ...collectionOf(request), param(request, 'query_id'))),
  replayQueryAsAdmin: async (request) =>
    replay(context, request, await getAnyQuery(context, param(request, 'query_id'))),
});

async function replay(context: Services['queries'], request: Request, found: LoggedSearch): Promise<Reply> {
  const result = await withErrorCode('search_failed', () => replayQuery(context, searcherOf(request), found));
  return replayReply(found, result);
}
