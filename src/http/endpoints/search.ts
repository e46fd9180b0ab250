// Search by GET and by POST. The hits come from the shards as ready JSON and are joined, never parsed again.
// Handlers on the front thread. The route table (routes.ts) names them.
import typia from 'typia';
import type { Fusion, Rerank, SearchBody, SearchQuery, Telling } from '../../contract/api/search.js';
import { invalidField } from '../../contract/errors.js';
import { K_DEFAULT, RERANK_DEPTH_DEFAULT } from '../../contract/limits.js';
import type { RerankSettings } from '../../contract/ranking.js';
import type { Context } from '../../service/context.js';
import { withFaultCode } from '../../service/fault-code.js';
import { loggedSearch, sharedSearch, type LoggedResult } from '../../service/logged-search.js';
import type { SearchInput } from '../../service/search.js';
import { accountOf } from '../../tenants/actor.js';
import type { Handler, Reply, Request } from '../route.js';
import { fitting, parseJson } from '../validation.js';
import { collectionOf } from './path.js';
import { searcherOf, searchReply } from './search-reply.js';

/** Fields of a body that the query-string form does not take. */
const BODY_ONLY: ReadonlySet<string> = new Set(['v', 'filters', 'content_filter', 'rerank', 'fusion', 'ef', 'exact', 'explain', 'relevance', 'highlight']);

const validateBody = typia.createValidateEquals<SearchBody>();
const validateQuery = typia.createValidate<SearchQuery>();

export const postSearch =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const input = await bodyInput(request);
    return answer(() => loggedSearch(context, searcherOf(request), tenant, name, input));
  };

export const getSearch =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const input = queryInput(request);
    return answer(() => loggedSearch(context, searcherOf(request), tenant, name, input));
  };

export const postSharedSearch =
  (context: Context): Handler =>
  async (request) => {
    const input = await bodyInput(request);
    return answer(() => sharedSearch(context, { ...input, account: accountOf(request.actor) }));
  };

export const getSharedSearch =
  (context: Context): Handler =>
  async (request) => {
    const input = queryInput(request);
    return answer(() => sharedSearch(context, { ...input, account: accountOf(request.actor) }));
  };

async function bodyInput(request: Request): Promise<SearchInput> {
  return inputOf(fitting(validateBody(parseJson(await request.body.bytes())), 'body'), 'body', request);
}

function queryInput(request: Request): SearchInput {
  return inputOf(fitting(validateQuery(valuesOf(request.query)), 'query'), 'query', request);
}

/** `null` counts as absent. */
function inputOf(body: SearchBody, where: string, { actor: { filters: embeddedFilters }, signal, trace }: Request): SearchInput {
  const { q, v, mode, filters, content_filter: contentFilter, include_common: includeCommon, rerank, fusion } = body;
  const k = body.k ?? K_DEFAULT;
  if ((q == null) === (v == null)) throw invalidField([where], 'exactly one of q and v is wanted', 'value_error');
  if (q?.trim() === '') throw invalidField([where, 'q'], 'the search text is empty', 'too_short', q);
  return {
    ...(q == null ? {} : { q }),
    ...(v == null ? {} : { v }),
    k,
    ...(mode == null ? {} : { mode }),
    ...(filters == null ? {} : { filters }),
    ...(contentFilter == null ? {} : { contentFilter }),
    ...(includeCommon == null ? {} : { includeCommon }),
    ...(rerank == null ? {} : { rerank: rerankOf(rerank, k) }),
    ...(fusion == null ? {} : { fusion: checkedFusion(fusion) }),
    ...breadthOf(body),
    ...tellingOf(body),
    ...(embeddedFilters === undefined ? {} : { embeddedFilters }),
    signal,
    ...(trace && { traceparent: trace.traceparent }),
  };
}

function rerankOf({ instance, depth }: Rerank, k: number): RerankSettings {
  if (depth != null && depth < k) throw invalidField(['body', 'rerank', 'depth'], `the depth should be at least k, which is ${k}`, 'greater_than_equal', depth);
  return { instance, depth: depth ?? Math.max(RERANK_DEPTH_DEFAULT, k) };
}

function checkedFusion(fusion: Fusion): Fusion {
  const at = (...place: string[]): string[] => ['body', 'fusion', ...place];
  if (fusion.method === 'score' && fusion.k != null) throw invalidField(at('k'), 'k is of method rank', 'value_error', fusion.k);
  if (fusion.weights && fusion.weights.vector + fusion.weights.lexical === 0) throw invalidField(at('weights'), 'one of the weights should be more than 0', 'value_error');
  return fusion;
}

function breadthOf({ ef, exact }: SearchBody): { ef?: number; exact?: true } {
  if (ef != null && exact) throw invalidField(['body', 'ef'], 'an exact search walks no graph: one of ef and exact is wanted', 'value_error', ef);
  return { ...(ef == null ? {} : { ef }), ...(exact ? { exact } : {}) };
}

function tellingOf({ explain, relevance, highlight }: SearchBody): { telling?: Telling } {
  if (!explain && !relevance && !highlight) return {};
  return { telling: { explain: explain ?? false, relevance: relevance ?? false, highlight: highlight ?? false } };
}

/** Numbers and booleans of a query string; what is neither is left as text for the validation to refuse. What only a body can say is passed over. */
function valuesOf(query: URLSearchParams): Record<string, unknown> {
  const values: Record<string, unknown> = Object.fromEntries([...query].filter(([name]) => !BODY_ONLY.has(name)));
  if (/^-?\d{1,15}$/.test(query.get('k') ?? '')) values.k = Number(values.k);
  const common = query.get('include_common')?.toLowerCase() ?? '';
  if (['true', '1', 'yes', 'on'].includes(common)) values.include_common = true;
  if (['false', '0', 'no', 'off'].includes(common)) values.include_common = false;
  return values;
}

async function answer(search: () => Promise<LoggedResult>): Promise<Reply> {
  const startedAtMs = performance.now();
  return searchReply(await withFaultCode('search_failed', search), startedAtMs);
}
