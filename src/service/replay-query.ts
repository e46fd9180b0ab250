// Use case: repeat a logged search on the data of today, with its mode, filters, k and reranker; the common scope as it
// is configured today. The repetition is a search of its own in the log. Called by the replay endpoints; front thread.
import type { LoggedQuery } from '../contract/query-log.js';
import type { Context } from './context.js';
import { loggedSearch, type LoggedResult, type Searcher } from './logged-search.js';
import type { LoggedSearch } from './queries.js';
import { checkQueryText } from './query-text.js';
import type { SearchInput } from './search.js';

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
