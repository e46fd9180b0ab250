// Search by GET and by POST, of a collection and of the shared scope, and batches of searches. Hits come from the
// shards as serialized JSON and are joined without parsing. Runs on front threads and on the main thread.
import { AppError } from '../../api/errors.js';
import { MSGPACK_TYPE } from '../../api/msgpack.js';
import { checkSearchQuery, type SEARCH_ROUTES, type SearchTiming } from '../../api/search.js';
import { inOrder } from '../../base/in-order.js';
import { listHead, msgpackOfJson } from '../../base/json-msgpack.js';
import { withErrorCode } from '../../service/use-case.js';
import { searchCollections } from '../../service/query-log/collections-search.js';
import { type LoggedResult, type Searcher, loggedSearch, sharedSearch } from '../../service/query-log/logged-search.js';
import type { LoggedSearch } from '../../service/query-log/queries.js';
import { type SearchInput, settledInput } from '../../service/search/input.js';
import type { Services } from '../../service/services.js';
import { accountOf } from '../../service/tenants/actor.js';
import { prefersMsgpack } from '../content-negotiation.js';
import { errorJson } from '../envelope.js';
import { fitting } from '../json-body.js';
import {
  type Handler,
  type OwnHandlers,
  type Reply,
  type Request,
  collectionOf,
  numbersIn,
  tenantOf,
} from '../route.js';
import { SearchBodyReader } from '../search-body.js';

/** The caller for the query log. */
export const searcherOf = ({ actor, id }: Request): Searcher => ({ actor: actor.name, requestId: id });

/** `startedAtMs` is the start of the search by `performance.now()`. */
function searchReply(result: LoggedResult, startedAtMs: number): Reply {
  return {
    status: 200,
    jsonParts: [`{${searchJson(result)}`],
    phases: { startedAtMs, timing: result.timing },
  };
}

/** The fields of the answer to a search as JSON, without braces. */
function searchJson({ hits, mode, degraded, timing, next, queryId }: LoggedResult): string {
  const fields = { mode, degraded, next_cursor: next, query_id: queryId };
  return `"matches":[${hits.join(',')}],${fieldsJson(fields, timing)}`;
}

export function replayReply(
  { query: original }: LoggedSearch,
  { hits, mode, degraded, timing, queryId }: LoggedResult,
): Reply {
  const head = { original_query_id: original.id, original_result_count: original.resultIds.length };
  const fields = { mode, degraded, original_latency_ms: original.latencyMs, replay_query_id: queryId };
  return {
    status: 200,
    jsonParts: [`{${fieldsJson(head)},"matches":[${hits.join(',')}],${fieldsJson(fields, timing)}`],
  };
}

/** An object with primitive fields only. */
type Flat<T> = { readonly [Name in keyof T]: string | number | boolean | undefined };

/** The fields as JSON without braces: numbers with three decimals, undefined fields omitted. */
function fieldsJson<T extends Flat<T>>(fields: T, timing?: SearchTiming): string {
  const own = membersJson(fields);
  return timing ? `${own},"timing":{${membersJson(timing)}}` : own;
}

/** Serializes field by field: an object of rounded values for JSON.stringify took three times as long. */
function membersJson<T extends Flat<T>>(fields: T): string {
  let json = '';
  for (const name in fields) {
    const value: string | number | boolean | undefined = fields[name];
    if (value === undefined) continue;
    json += `${json === '' ? '' : ','}"${name}":${typeof value === 'number' ? Math.round(value * 1000) / 1000 : JSON.stringify(value)}`;
  }
  return json;
}

function postSearch(context: Services['search']): Handler {
  const bodies = new SearchBodyReader();
  return async (request) => {
    const [tenant, name] = collectionOf(request);
    const input = await bodies.input(request.body);
    return answer(() => loggedSearch(context, callerOf(request), tenant, name, input));
  };
}

const getSearch =
  (context: Services['search']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const input = queryInput(request);
    return answer(() => loggedSearch(context, callerOf(request), tenant, name, input));
  };

function postSharedSearch(context: Services['search']): Handler {
  const bodies = new SearchBodyReader();
  return async (request) => {
    const input = await bodies.input(request.body);
    return answer(() => sharedSearch(context, sharerOf(request), input));
  };
}

const getSharedSearch =
  (context: Services['search']): Handler =>
  async (request) => {
    const input = queryInput(request);
    return answer(() => sharedSearch(context, sharerOf(request), input));
  };

/**
 * Searches of a batch that are under way at a time. They wait in the queue of their tenant, so this bounds what a batch
 * takes of it, and the results that wait for the client.
 */
const SEARCHES_UNDERWAY_MAX = 32;

/** Results are sent in the order of the searches, while others are still under way. */
function postSearchBatch(context: Services['search']): Handler {
  const bodies = new SearchBodyReader();
  return async (request) => {
    const [tenant, name] = collectionOf(request);
    const inputs = await bodies.inputs(request.body);
    request.charge(inputs.length - 1);
    const caller = callerOf(request);
    const results = inOrder(inputs, SEARCHES_UNDERWAY_MAX, (input) =>
      resultJson(request, async () => {
        if (input instanceof AppError) throw input;
        return loggedSearch(context, caller, tenant, name, input);
      }),
    );
    if (prefersMsgpack(request.header('accept')))
      return { status: 200, contentType: MSGPACK_TYPE, stream: packedResults(request, inputs.length, results) };
    return { status: 200, jsonStream: joinedResults(results) };
  };
}

function postCollectionsSearch(context: Services['search']): Handler {
  const bodies = new SearchBodyReader();
  return async (request) => {
    const tenant = tenantOf(request);
    const search = await bodies.collectionsSearch(request.body);
    request.charge(search.collections.length - 1);
    const { merge, hits, searches } = await withErrorCode('search_failed', () =>
      searchCollections(context, callerOf(request), request.actor, tenant, search),
    );
    const rest = searches.map(({ timing, ...fields }) => `{${fieldsJson(fields, timing)}}`);
    return {
      status: 200,
      jsonParts: [`{"matches":[${hits.join(',')}],"merge":"${merge}","searches":[${rest.join(',')}]`],
    };
  };
}

async function* joinedResults(results: AsyncIterable<string>): AsyncGenerator<string> {
  let before = '{"results":[';
  for await (const result of results) {
    yield before + result;
    before = ',';
  }
  yield ']';
}

/** Four fields, of which `ok` is true, and the name of the second. */
const PACKED_HEAD = Buffer.from('\x84\xa2ok\xc3\xa7results', 'latin1');

/** The whole answer in MessagePack, with the common fields. */
async function* packedResults(
  { id, startedAtMs }: Request,
  count: number,
  results: AsyncIterable<string>,
): AsyncGenerator<Uint8Array> {
  yield PACKED_HEAD;
  yield listHead(count);
  for await (const result of results) yield msgpackOfJson(Buffer.from(result));
  const closing = { latency_ms: performance.now() - startedAtMs, request_id: id };
  const fields = msgpackOfJson(Buffer.from(`{${fieldsJson(closing)}}`));
  yield fields.subarray(1);
}

/** The result of a search of a batch as JSON. An error of the search is its result, an internal one is thrown. */
async function resultJson({ route }: Request, search: () => Promise<LoggedResult>): Promise<string> {
  try {
    return `{"ok":true,${searchJson(await withErrorCode('search_failed', search))}}`;
  } catch (error) {
    if (error instanceof AppError) return errorJson(error, route);
    throw error;
  }
}

function queryInput(request: Request): SearchInput {
  return settledInput(fitting(checkSearchQuery(valuesOf(request.query)), 'query'), 'query');
}

/** The caller with the filters of its key, its cancel signal and its trace context. */
function callerOf(request: Request): Searcher {
  const { actor, cancelSource: signal, trace } = request;
  const caller: Searcher = searcherOf(request);
  caller.signal = signal;
  if (actor.filters !== undefined) caller.embeddedFilters = actor.filters;
  if (trace) caller.traceparent = trace.traceparent;
  return caller;
}

const sharerOf = (request: Request): Searcher => ({ ...callerOf(request), account: accountOf(request.actor) });

/** Converts numbers and booleans of a query string; other values stay text for the validation to reject. */
function valuesOf(query: URLSearchParams): Record<string, unknown> {
  const values = numbersIn(query, 'k');
  const common = query.get('include_common')?.toLowerCase() ?? '';
  if (['true', '1', 'yes', 'on'].includes(common)) values.include_common = true;
  if (['false', '0', 'no', 'off'].includes(common)) values.include_common = false;
  return values;
}

async function answer(search: () => Promise<LoggedResult>): Promise<Reply> {
  const startedAtMs = performance.now();
  return searchReply(await withErrorCode('search_failed', search), startedAtMs);
}

export const searchHandlers = (context: Services['search']): OwnHandlers<typeof SEARCH_ROUTES> => ({
  searchByQuery: getSearch(context),
  search: postSearch(context),
  searchBatch: postSearchBatch(context),
  searchCollections: postCollectionsSearch(context),
  searchSharedByQuery: getSharedSearch(context),
  searchShared: postSharedSearch(context),
});
