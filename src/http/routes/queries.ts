// The query log: of a collection, and of any tenant for the admin.
// Called by routes.ts at start.
import type { Context } from '../../service/context.js';
import { getOneQuery, getOneQueryAsAdmin, getQueries, postReplay, postReplayAsAdmin } from '../endpoints/queries.js';
import type { Route } from '../route.js';
import { admin, COLLECTION, get, post, READ, READ_ONE } from './kit.js';

const QUERIES = `${COLLECTION}/queries`;
const QUERY = `${QUERIES}/{query_id}`;
const ADMIN_QUERY = '/v1/admin/queries/{query_id}';
const REPLAY = [200, 401, 403, 404, 422, 429, 500, 503];

export function queryRoutes(context: Context): Route[] {
  return [
    // Everybody's searches stand there: who may search may not read what others search.
    { ...get('listQueries', QUERIES, READ, getQueries(context)), scope: 'manage' },
    { ...get('getQuery', QUERY, READ_ONE, getOneQuery(context)), scope: 'manage' },
    { ...post('replayQuery', `${QUERY}/replay`, REPLAY, postReplay(context)), body: 'none', scope: 'manage' },
    admin(get('getQueryAsAdmin', ADMIN_QUERY, [200, 401, 403, 404, 422, 500], getOneQueryAsAdmin(context))),
    admin({ ...post('replayQueryAsAdmin', `${ADMIN_QUERY}/replay`, REPLAY, postReplayAsAdmin(context)), body: 'none' }),
  ];
}
