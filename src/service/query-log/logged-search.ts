// Use case that searches a collection and logs the search. A search writes nothing to disk before it is answered: the
// query log keeps the entry in memory and writes it later. Runs on front threads and on the main thread.
import { logIdOf } from '../../storage/catalog-commands.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import type { Metrics } from '../../observability/metrics.js';
import { fusionSettings } from '../../ranking/scores.js';
import type { LoggedQuery, LoggedRest } from '../../storage/query-log-commands.js';
import type { Catalog } from '../collections/catalog.js';
import type { UnderWay } from '../recall/sampler.js';
import {
  type SearchInput,
  hitOptions,
  loggedQuery,
  queryOfLog,
  resultOptions,
  searchParams,
  wordOptions,
} from '../search/input.js';
import type { Caller } from '../search/query.js';
import { type SearchContext, type SearchResult, searchCollection, searchShared } from '../search/search.js';
import type { LogBuffer } from './log-buffer.js';

export interface LoggedSearchContext {
  readonly search: SearchContext;
  readonly catalog: Pick<Catalog, 'find' | 'findByLog' | 'get'>;
  readonly queryLog: Pick<LogBuffer, 'enabled' | 'append'>;
  readonly metrics: Pick<Metrics, 'searched'>;
  readonly searchesUnderWay: Pick<UnderWay, 'during'>;
  readonly nowMs: () => number;
}

/** The caller of a search, with what the query log records of it. */
export interface Searcher extends Caller {
  actor: string;
  requestId: string;
  /** The id of the logged search that this one repeats. */
  replayOf?: string;
}

export interface LoggedResult extends SearchResult {
  /**
   * Absent if the search was not logged: logging is off, the log is behind (log-buffer.ts), or the collection is
   * missing.
   */
  queryId?: string;
}

/** Throws as `searchCollection` does. A search that fails is not logged. */
export async function loggedSearch(
  context: LoggedSearchContext,
  searcher: Searcher,
  tenant: Tenant,
  name: CollectionName,
  input: SearchInput,
): Promise<LoggedResult> {
  const { search, catalog, queryLog, metrics, searchesUnderWay, nowMs } = context;
  const [executedAtMs, startedAtMs] = [nowMs(), performance.now()];
  const collection = catalog.find(tenant, name);
  const result = await searchesUnderWay.during(() => searchCollection(search, tenant, name, input, searcher));
  const latencyMs = performance.now() - startedAtMs;
  metrics.searched(result, latencyMs);
  // A replay would search the live space. If the collection was deleted meanwhile, an entry would be written after its
  // log was removed.
  if (!queryLog.enabled || input.space === 'staged' || !collection || !catalog.findByLog(logIdOf(collection)))
    return result;
  const queryId = queryLog.append(
    logIdOf(collection),
    entryOf(search, searcher, input, result, executedAtMs, latencyMs),
  );
  return queryId === undefined ? result : { ...result, queryId };
}

/**
 * Searches the common collection. The search is counted but not logged, because the owner of the collection could then
 * read the searches of other tenants. Throws as `searchShared` does.
 */
export async function sharedSearch(
  context: LoggedSearchContext,
  caller: Caller,
  input: SearchInput,
): Promise<SearchResult> {
  const startedAtMs = performance.now();
  const { search, metrics, searchesUnderWay } = context;
  const result = await searchesUnderWay.during(() => searchShared(search, input, caller));
  metrics.searched(result, performance.now() - startedAtMs);
  return result;
}

function entryOf(
  search: SearchContext,
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
    rest: restOf(search, searcher, input, result),
    vector: input.v ? (input.v instanceof Float32Array ? input.v : new Float32Array(input.v)) : undefined,
  };
}

/** The given fields by their names in the body, with the resolved fusion settings. */
function restOf(
  { common, settings }: SearchContext,
  { embeddedFilters }: Searcher,
  input: SearchInput,
  { timing, degraded }: SearchResult,
): LoggedRest {
  const { q, filters, content_filter: content, include_common: includeCommon, rerank, fusion } = input;
  const rest: LoggedRest = { timing, ...(degraded && { degraded }) };
  if (filters) rest.filters = filters;
  if (embeddedFilters) rest.embedded_filters = embeddedFilters;
  if (content) rest.content_filter = content;
  if (rerank) rest.rerank = rerank;
  if (input.like) rest.like = input.like;
  if (input.sort) rest.sort = input.sort;
  if (input.after) rest.after = input.after;
  if (input.queries) {
    rest.queries = input.queries.map(loggedQuery);
    rest.fusion = fusion as NonNullable<LoggedRest['fusion']>;
  } else if (fusion) rest.fusion = fusionSettings(fusion, settings.fusion);
  Object.assign(rest, searchParams(input), wordOptions(input), resultOptions(input), hitOptions(input));
  if (includeCommon == null) return rest;
  const searched = includeCommon &&
    q != null &&
    common.enabled && { common_tenant: common.tenant, common_collection: common.collection };
  return { ...rest, include_common: includeCommon, ...searched };
}

/** The caller of a logged search, as far as the hits depend on it. */
export const callerOf = ({ rest: { embedded_filters: embeddedFilters } }: LoggedQuery): Caller =>
  embeddedFilters ? { embeddedFilters } : {};

/** The input of a logged search: the fields of its entry without those that describe the result. */
export function inputOf({ text, vector, k, mode, rest }: LoggedQuery): SearchInput {
  const { timing, degraded, sampled, embedded_filters, common_tenant, common_collection, queries, ...fields } = rest;
  const asked = vector ? { v: vector } : queries ? { queries: queries.map(queryOfLog) } : { q: text };
  return { ...fields, ...(rest.sort || rest.like ? {} : asked), k, mode };
}
