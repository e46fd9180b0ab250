// Use cases of the query log: list the searches of a collection, find one in a collection or in any tenant, and replay
// one. Runs on the main thread.
import { QUERIES_PAGE_DEFAULT } from '../../api/limits.js';
import type { QUERY_ROUTES, QueryEntry, QueryList, QueryListParameters, QuerySummary } from '../../api/queries.js';
import { AppError } from '../../api/errors.js';
import type { CollectionId, CollectionName, Tenant } from '../../api/ids.js';
import { roundTo } from '../../base/numbers.js';
import { asUuid } from '../../base/uuids.js';
import type { FoundQuery } from '../../storage/query-log-commands.js';
import type { Collection } from '../../api/collections.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import type { Catalog } from '../collections/catalog.js';
import { checkQueryText } from '../search/input.js';
import type { UseCases } from '../use-case.js';
import {
  type LoggedResult,
  type LoggedSearchContext,
  type Searcher,
  callerOf,
  inputOf,
  loggedSearch,
} from './logged-search.js';
import type { QueryLog } from './query-log.js';

export interface QueriesContext {
  readonly catalog: Pick<Catalog, 'find' | 'findByLog'>;
  readonly queryLog: Pick<QueryLog, 'list' | 'pages' | 'get'>;
  /** Runs replayed searches. */
  readonly search: LoggedSearchContext;
}

/** A logged search, and its collection under its current name. */
export interface LoggedSearch {
  query: FoundQuery;
  collection: Collection;
}

export const queryUseCases = (context: QueriesContext): UseCases<typeof QUERY_ROUTES> => ({
  listQueries: ({ tenant, name, query }) => listQueries(context, tenant, name, query),
  getQuery: async ({ tenant, name, query_id: id }) => ({ query: entryOf(await getQuery(context, tenant, name, id)) }),
  getQueryAsAdmin: async ({ query_id: id }) => ({ query: entryOf(await getAnyQuery(context, id)) }),
});

/** Lists the searches of a collection, newest first. Empty if the collection is missing. */
async function listQueries(
  { catalog, queryLog }: QueriesContext,
  tenant: Tenant,
  name: CollectionName,
  { limit, offset = 0, cursor, ...wanted }: QueryListParameters,
): Promise<QueryList> {
  const collection = catalog.find(tenant, name);
  const most = limit ?? QUERIES_PAGE_DEFAULT;
  const log = collection && logIdOf(collection);
  const page = { limit: most + 1, offset, ...(cursor !== undefined && { before: cursor }) };
  const isFiltered = Object.keys(wanted).length > 0;
  const { found, seenTo } =
    log === undefined
      ? { found: [] }
      : isFiltered
        ? await listWanted(queryLog, log, page, wanted)
        : { found: await queryLog.list(log, page) };
  const queries = found.slice(0, most);
  const next = limit !== undefined && (found.length > most ? queries.at(-1)?.id : seenTo);
  return {
    tenant,
    collection: name,
    queries: queries.map(summaryOf),
    count: queries.length,
    ...(typeof next === 'string' && { next_cursor: next }),
  };
}

/** Entries that are looked through for a page. */
const LOOKED_MAX = 10_000;

/** Up to `limit` entries that are wanted; `seenTo` is the id of the last entry that was looked at, if more follow. */
async function listWanted(
  queryLog: QueriesContext['queryLog'],
  log: CollectionId,
  { limit, offset, before }: { limit: number; offset: number; before?: string },
  { q, mode, actor }: Pick<QueryListParameters, 'q' | 'mode' | 'actor'>,
): Promise<{ found: FoundQuery[]; seenTo?: string }> {
  const text = q?.toLowerCase();
  const isWanted = (query: FoundQuery): boolean =>
    (text === undefined || query.text.toLowerCase().includes(text)) &&
    (mode === undefined || query.mode === mode) &&
    (actor === undefined || query.actor === actor);
  const found: FoundQuery[] = [];
  let looked = 0;
  let seenTo: string | undefined;
  for await (const entries of queryLog.pages(log, LOOKED_MAX, before)) {
    found.push(...entries.filter(isWanted));
    if (found.length >= offset + limit) return { found: found.slice(offset) };
    looked += entries.length;
    seenTo = entries.at(-1)?.id;
  }
  return { found: found.slice(offset), ...(looked >= LOOKED_MAX && seenTo !== undefined && { seenTo }) };
}

/** Throws 404 `query_not_found`, also for an invalid id and for a search of another collection. */
export async function getQuery(
  context: QueriesContext,
  tenant: Tenant,
  name: CollectionName,
  id: string,
): Promise<LoggedSearch> {
  const collection = context.catalog.find(tenant, name);
  if (!collection) throw new AppError('query_not_found');
  return find(context, id, collection);
}

/** Finds a search of any tenant. Throws 404 `query_not_found`. */
export function getAnyQuery(context: QueriesContext, id: string): Promise<LoggedSearch> {
  return find(context, id, undefined);
}

async function find(
  { catalog, queryLog }: QueriesContext,
  id: string,
  within: Collection | undefined,
): Promise<LoggedSearch> {
  const known = asUuid(id);
  const query = known && (await queryLog.get(known, within && logIdOf(within)));
  const collection = query && catalog.findByLog(query.collection);
  if (!collection) throw new AppError('query_not_found');
  return { query, collection };
}

/**
 * Repeats a logged search on the current data, with its mode, filters, k and reranker; the common collection is used as
 * configured now. The replay is logged as a search of its own. Throws as a search does. The key filters of the original
 * caller apply too, so a replay shows no more than the original could.
 */
export async function replayQuery(
  { search }: QueriesContext,
  searcher: Searcher,
  { query, collection }: LoggedSearch,
): Promise<LoggedResult> {
  checkQueryText(['query_text'], query.text);
  const again = { ...searcher, ...callerOf(query), replayOf: query.id };
  return loggedSearch(search, again, collection.tenant, collection.name, inputOf(query));
}

function summaryOf(query: FoundQuery): QuerySummary {
  const { id, text, k, mode, actor, executedAtMs, latencyMs, replayOf, requestId, resultIds } = query;
  const { sampled } = query.rest;
  return {
    query_id: id,
    query_text: text,
    k,
    mode,
    actor,
    executed_at: new Date(executedAtMs).toISOString(),
    result_count: resultIds.length,
    latency_ms: roundTo(latencyMs, 3),
    ...(replayOf !== '' && { replay_of: replayOf }),
    request_id: requestId,
    ...(sampled !== undefined && { sampled }),
  };
}

function entryOf({ query, collection: { tenant, name } }: LoggedSearch): QueryEntry {
  const {
    resultIds,
    rest: { embedded_filters: _filters, after: _after, ...rest },
  } = query;
  const timing = Object.fromEntries(
    Object.entries(rest.timing).map(([phase, ms]) => [phase, roundTo(ms as number, 3)]),
  ) as unknown as QueryEntry['timing'] & object;
  return { ...summaryOf(query), tenant, collection: name, result_ids: resultIds, ...rest, timing };
}
