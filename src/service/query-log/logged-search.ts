// Use case: search a collection, and keep the search in the query log. A search writes nothing before it answers: the log
// takes the entry in memory and writes it when the reply is out. Front thread.
import { logIdOf } from '../../storage/catalog-commands.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import type { Metrics } from '../../observability/metrics.js';
import { fusionSettings } from '../../ranking/scores.js';
import type { LoggedQuery, LoggedRest } from '../../storage/query-log-commands.js';
import type { Catalog } from '../collections/catalog.js';
import type { UnderWay } from '../recall/sampler.js';
import { type Caller, type SearchInput, hitOptions, searchParams } from '../search/query.js';
import { type SearchContext, type SearchResult, searchCollection, searchShared } from '../search/search.js';
import type { QueryLog } from './query-log.js';

export interface LoggedSearchContext {
  readonly search: SearchContext;
  readonly catalog: Pick<Catalog, 'find' | 'findByLog'>;
  readonly queryLog: Pick<QueryLog, 'enabled' | 'append'>;
  readonly metrics: Pick<Metrics, 'searched'>;
  readonly searchesUnderWay: Pick<UnderWay, 'during'>;
  readonly nowMs: () => number;
}

/** Who searches, for the log too. */
export interface Searcher extends Caller {
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
  // Dropped meanwhile: an entry would come after its log has gone.
  if (!queryLog.enabled || !collection || !catalog.findByLog(logIdOf(collection))) return result;
  const queryId = queryLog.append(
    logIdOf(collection),
    entryOf(search, searcher, input, result, executedAtMs, latencyMs),
  );
  return queryId === undefined ? result : { ...result, queryId };
}

/**
 * The shared scope: counted, but not logged, for its owner would read what other tenants search. Throws what
 * searchShared throws.
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

/** What was given, by its name in the body; the fusion as it was settled. */
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
  if (fusion) rest.fusion = fusionSettings(fusion, settings.fusion);
  Object.assign(rest, searchParams(input), hitOptions(input));
  if (includeCommon == null) return rest;
  const searched = includeCommon &&
    q != null &&
    common.enabled && { common_tenant: common.tenant, common_collection: common.collection };
  return { ...rest, include_common: includeCommon, ...searched };
}

/** Who made a logged search, as far as its hits depend on it. */
export const callerOf = ({ rest: { embedded_filters: embeddedFilters } }: LoggedQuery): Caller =>
  embeddedFilters ? { embeddedFilters } : {};

/** The search that a logged one was: all of its entry that is no account of what came of it. */
export function inputOf({ text, vector, k, mode, rest }: LoggedQuery): SearchInput {
  const { timing, degraded, embedded_filters, common_tenant, common_collection, ...fields } = rest;
  return { ...fields, ...(vector ? { v: vector } : { q: text }), k, mode };
}
