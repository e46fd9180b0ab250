// Use case: search a collection, and keep the search in the query log. The search writes nothing before it answers: the
// log takes the entry in memory and writes it when the reply is out. Called by the search endpoints and by a replay;
// front thread.
import { logIdOf } from '../../storage/catalog-commands.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import { fusionSettings } from '../../ranking/scores.js';
import type { LoggedQuery, LoggedRest } from '../../storage/query-log-commands.js';
import type { Context } from '../context.js';
import { checkQueryText } from '../search/query.js';
import { type SearchInput, type SearchResult, searchCollection, searchShared } from '../search/search.js';
import type { LoggedSearch } from './queries.js';

/** Who searches, for the log. */
export interface Searcher {
  actor: string;
  requestId: string;
  /** The query that this search repeats. */
  replayOf?: string;
}

export interface LoggedResult extends SearchResult {
  /** Absent when the search was not logged: logging is off, has no room, or there is no such collection. */
  queryId?: string;
}

/** Throws what searchCollection throws; a search that fails is not logged. */
export async function loggedSearch(
  context: Context,
  searcher: Searcher,
  tenant: Tenant,
  name: CollectionName,
  input: SearchInput,
): Promise<LoggedResult> {
  const { catalog, queryLog, metrics, searchesUnderWay, nowMs } = context;
  const [executedAtMs, startedAtMs] = [nowMs(), performance.now()];
  const collection = catalog.find(tenant, name);
  const result = await searchesUnderWay.during(() => searchCollection(context, tenant, name, input));
  const latencyMs = performance.now() - startedAtMs;
  metrics.searched(result, latencyMs);
  // Dropped meanwhile: an entry would come after its log has gone.
  if (!queryLog.enabled || !collection || !catalog.findByLog(logIdOf(collection))) return result;
  const queryId = queryLog.append(
    logIdOf(collection),
    entryOf(context, searcher, input, result, executedAtMs, latencyMs),
  );
  return queryId === undefined ? result : { ...result, queryId };
}

/**
 * The shared scope: counted, but not logged, for its owner would read what other tenants search. Throws what
 * searchShared throws.
 */
export async function sharedSearch(context: Context, input: SearchInput): Promise<SearchResult> {
  const startedAtMs = performance.now();
  const { metrics, searchesUnderWay } = context;
  const result = await searchesUnderWay.during(() => searchShared(context, input));
  metrics.searched(result, performance.now() - startedAtMs);
  return result;
}

function entryOf(
  context: Context,
  searcher: Searcher,
  input: SearchInput,
  result: SearchResult,
  executedAtMs: number,
  latencyMs: number,
): LoggedQuery {
  return {
    text: input.q ?? '',
    k: input.k,
    executedAtMs,
    latencyMs,
    replayOf: searcher.replayOf ?? '',
    requestId: searcher.requestId,
    actor: searcher.actor,
    mode: result.mode,
    resultIds: result.ids,
    rest: restOf(context, input, result),
    vector: input.v && (input.v instanceof Float32Array ? input.v : new Float32Array(input.v)),
  };
}

function restOf(
  { common, search }: Context,
  { q, filters, embeddedFilters, contentFilter, includeCommon, rerank, fusion, ef, exact, telling }: SearchInput,
  { timing, degraded }: SearchResult,
): LoggedRest {
  const rest: LoggedRest = { timing, ...(degraded && { degraded }) };
  if (filters) rest.filters = filters;
  if (embeddedFilters) rest.embedded_filters = embeddedFilters;
  if (contentFilter) rest.content_filter = contentFilter;
  if (rerank) rest.rerank = rerank;
  if (fusion) rest.fusion = fusionSettings(fusion, search.fusion);
  if (ef !== undefined) rest.ef = ef;
  if (exact) rest.exact = exact;
  for (const told of ['explain', 'relevance', 'highlight'] as const) if (telling?.[told]) rest[told] = true;
  if (includeCommon === undefined) return rest;
  const searched = includeCommon &&
    q !== undefined &&
    common.enabled && { common_tenant: common.tenant, common_collection: common.collection };
  return { ...rest, include_common: includeCommon, ...searched };
}

// Use case: repeat a logged search on the data of today, with its mode, filters, k and reranker; the common scope as it
// is configured today. The repetition is a search of its own in the log. Called by the replay endpoints; front thread.

/**
 * Throws what a search throws. The filters of the original's key apply too: a replay shows no more than the original
 * might.
 */
export async function replayQuery(
  context: Context,
  searcher: Searcher,
  { query, collection }: LoggedSearch,
): Promise<LoggedResult> {
  checkQueryText(['query_text'], query.text);
  return loggedSearch(context, { ...searcher, replayOf: query.id }, collection.tenant, collection.name, inputOf(query));
}

/** The search that a logged one was. */
export function inputOf({ text, vector, k, mode, rest }: LoggedQuery): SearchInput {
  return {
    ...(vector ? { v: vector } : { q: text }),
    k,
    mode,
    ...(rest.filters && { filters: rest.filters }),
    ...(rest.embedded_filters && { embeddedFilters: rest.embedded_filters }),
    ...(rest.content_filter && { contentFilter: rest.content_filter }),
    ...(rest.rerank && { rerank: rest.rerank }),
    ...(rest.fusion && { fusion: rest.fusion }),
    ...(rest.ef !== undefined && { ef: rest.ef }),
    ...(rest.exact && { exact: rest.exact }),
    telling: { explain: rest.explain ?? false, relevance: rest.relevance ?? false, highlight: rest.highlight ?? false },
    ...(rest.include_common !== undefined && { includeCommon: rest.include_common }),
  };
}
