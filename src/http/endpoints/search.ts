// Search by GET and by POST. The hits come from the shards as ready JSON and are joined, never parsed again.
// Handlers on the front thread. The route table (routes.ts) names them.
import typia from 'typia';
import type { Fusion, Rerank, SearchBody, SearchQuery } from '../../contract/api/search.js';
import { invalidField } from '../../contract/errors.js';
import { K_DEFAULT, RERANK_DEPTH_DEFAULT } from '../../contract/limits.js';
import type { RerankSettings } from '../../contract/api/search.js';
import type { Context } from '../../service/context.js';
import { withFaultCode } from '../../service/fault-code.js';
import { loggedSearch, sharedSearch, type LoggedResult } from '../../service/logged-search.js';
import { checkQueryText } from '../../service/query-text.js';
import type { SearchInput } from '../../service/search.js';
import { accountOf } from '../../tenants/actor.js';
import { numbersIn } from '../query-values.js';
import type { Handler, Reply, Request } from '../route.js';
import { SearchBodyReader } from '../search-body.js';
import { fitting } from '../validation.js';
import { collectionOf } from './path.js';
import { searcherOf, searchReply } from './search-reply.js';

const validateBody = typia.createValidateEquals<SearchBody>();
const validateQuery = typia.createValidate<SearchQuery>();

export function postSearch(context: Context): Handler {
  const bodies = new SearchBodyReader();
  return async (request) => {
    const [tenant, name] = collectionOf(request);
    const input = await bodyInput(request, bodies);
    return answer(() => loggedSearch(context, searcherOf(request), tenant, name, input));
  };
}

export const getSearch =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const input = queryInput(request);
    return answer(() => loggedSearch(context, searcherOf(request), tenant, name, input));
  };

export function postSharedSearch(context: Context): Handler {
  const bodies = new SearchBodyReader();
  return async (request) => {
    const input = await bodyInput(request, bodies);
    return answer(() => sharedSearch(context, { ...input, account: accountOf(request.actor) }));
  };
}

export const getSharedSearch =
  (context: Context): Handler =>
  async (request) => {
    const input = queryInput(request);
    return answer(() => sharedSearch(context, { ...input, account: accountOf(request.actor) }));
  };

async function bodyInput(request: Request, bodies: SearchBodyReader): Promise<SearchInput> {
  const { body, vector } = bodies.read(await request.body.bytes());
  return inputOf(fitting(validateBody(body), 'body'), 'body', request, vector);
}

function queryInput(request: Request): SearchInput {
  return inputOf(fitting(validateQuery(valuesOf(request.query)), 'query'), 'query', request);
}

/** `null` counts as absent. Field by field: a literal that spreads what is there takes many times as long. */
function inputOf(body: SearchBody, where: string, request: Request, vector?: Float32Array): SearchInput {
  const { q, mode, filters, content_filter: contentFilter, include_common: includeCommon, rerank, fusion } = body;
  const {
    actor: { filters: embeddedFilters },
    departure: signal,
    trace,
  } = request;
  const v = vector ?? body.v;
  const k = body.k ?? K_DEFAULT;
  if ((q == null) === (v == null)) throw invalidField([where], 'exactly one of q and v is wanted', 'value_error');
  if (q != null) checkQueryText([where, 'q'], q);
  if (q?.trim() === '') throw invalidField([where, 'q'], 'the search text is empty', 'too_short', q);
  if (contentFilter != null) checkQueryText([where, 'content_filter', 'value'], contentFilter.value);
  const input: SearchInput = { k, signal };
  if (v != null) input.v = v;
  if (q != null) input.q = q;
  if (mode != null) input.mode = mode;
  if (filters != null) input.filters = filters;
  if (contentFilter != null) input.contentFilter = contentFilter;
  if (includeCommon != null) input.includeCommon = includeCommon;
  if (rerank != null) input.rerank = rerankOf(rerank, k);
  if (fusion != null) input.fusion = checkedFusion(fusion);
  if (embeddedFilters !== undefined) input.embeddedFilters = embeddedFilters;
  if (trace) input.traceparent = trace.traceparent;
  return withBreadth(withTelling(input, body), body);
}

function rerankOf({ instance, depth }: Rerank, k: number): RerankSettings {
  if (depth != null && depth < k)
    throw invalidField(
      ['body', 'rerank', 'depth'],
      `the depth should be at least k, which is ${k}`,
      'greater_than_equal',
      depth,
    );
  return { instance, depth: depth ?? Math.max(RERANK_DEPTH_DEFAULT, k) };
}

function checkedFusion(fusion: Fusion): Fusion {
  const at = (...place: string[]): string[] => ['body', 'fusion', ...place];
  if (fusion.method === 'score' && fusion.k != null)
    throw invalidField(at('k'), 'k is of method rank', 'value_error', fusion.k);
  if (fusion.weights && fusion.weights.vector + fusion.weights.lexical === 0)
    throw invalidField(at('weights'), 'one of the weights should be more than 0', 'value_error');
  return fusion;
}

function withBreadth(input: SearchInput, { ef, exact }: SearchBody): SearchInput {
  if (ef != null && exact)
    throw invalidField(
      ['body', 'ef'],
      'an exact search walks no graph: one of ef and exact is wanted',
      'value_error',
      ef,
    );
  if (ef != null) input.ef = ef;
  if (exact) input.exact = exact;
  return input;
}

function withTelling(input: SearchInput, { explain, relevance, highlight }: SearchBody): SearchInput {
  if (explain || relevance || highlight)
    input.telling = { explain: explain ?? false, relevance: relevance ?? false, highlight: highlight ?? false };
  return input;
}

/** Numbers and booleans of a query string; what is neither is left as text for the validation to refuse. */
function valuesOf(query: URLSearchParams): Record<string, unknown> {
  const values = numbersIn(query, 'k');
  const common = query.get('include_common')?.toLowerCase() ?? '';
  if (['true', '1', 'yes', 'on'].includes(common)) values.include_common = true;
  if (['false', '0', 'no', 'off'].includes(common)) values.include_common = false;
  return values;
}

async function answer(search: () => Promise<LoggedResult>): Promise<Reply> {
  const startedAtMs = performance.now();
  return searchReply(await withFaultCode('search_failed', search), startedAtMs);
}
