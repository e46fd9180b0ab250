// Use cases on the query log: list a collection's searches, and find one, in a collection or in any tenant.
// Called by the endpoints of the query log; front thread.
import type { QueryEntry, QuerySummary } from '../../api/queries.js';
import { AppError } from '../../api/errors.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import type { FoundQuery } from '../../storage/query-log-commands.js';
import type { Collection } from '../../api/collections.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import type { Context } from '../context.js';
import { asQueryId } from './query-log.js';
import { roundTo } from '../../base/numbers.js';

/** A logged search with the collection it was made in, by its present name. */
export interface LoggedSearch {
  query: FoundQuery;
  collection: Collection;
}

export interface QueryPage {
  limit: number;
  offset: number;
  /** Only searches older than the one with this id. */
  before?: string;
}

/** Newest first. `next`: where the next page begins, undefined on the last one. A missing collection has none. */
export async function listQueries(
  { catalog, queryLog }: Context,
  tenant: Tenant,
  name: CollectionName,
  page: QueryPage,
): Promise<{ queries: QuerySummary[]; next: string | undefined }> {
  const collection = catalog.find(tenant, name);
  const found = collection ? await queryLog.list(logIdOf(collection), { ...page, limit: page.limit + 1 }) : [];
  const queries = found.slice(0, page.limit);
  return { queries: queries.map(summaryOf), next: found.length > page.limit ? queries.at(-1)?.id : undefined };
}

/** Throws 404 `query_not_found`, also for an id that is none and for a search of another collection. */
export async function getQuery(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  id: string,
): Promise<LoggedSearch> {
  const collection = context.catalog.find(tenant, name);
  if (!collection) throw new AppError('query_not_found');
  return find(context, id, collection);
}

/** In any tenant. Throws 404 `query_not_found`. */
export function getAnyQuery(context: Context, id: string): Promise<LoggedSearch> {
  return find(context, id, undefined);
}

async function find({ catalog, queryLog }: Context, id: string, within: Collection | undefined): Promise<LoggedSearch> {
  const known = asQueryId(id);
  const query = known && (await queryLog.get(known, within && logIdOf(within)));
  const collection = query && catalog.findByLog(query.collection);
  if (!collection) throw new AppError('query_not_found');
  return { query, collection };
}

function summaryOf({ id, text, k, executedAtMs, latencyMs, replayOf, requestId, resultIds }: FoundQuery): QuerySummary {
  return {
    query_id: id,
    query_text: text,
    k,
    executed_at: new Date(executedAtMs).toISOString(),
    result_count: resultIds.length,
    latency_ms: roundTo(latencyMs, 3),
    ...(replayOf !== '' && { replay_of: replayOf }),
    request_id: requestId,
  };
}

export function entryOf({ query, collection: { tenant, name } }: LoggedSearch): QueryEntry {
  const {
    actor,
    resultIds,
    mode,
    rest: { embedded_filters: _, ...rest },
  } = query;
  const timing = Object.fromEntries(
    Object.entries(rest.timing).map(([phase, ms]) => [phase, roundTo(ms as number, 3)]),
  ) as unknown as QueryEntry['timing'] & object;
  return { ...summaryOf(query), tenant, collection: name, actor, result_ids: resultIds, mode, ...rest, timing };
}
