// Search by GET and by POST, of a collection and of the shared scope; how good the searches of a collection are; a sample
// of its vectors. The hits come from the shards as ready JSON and are joined, never parsed again. Front thread.
import typia from 'typia';
import type { SearchTiming } from '../../api/collections.js';
import type { ErrorCode } from '../../api/errors.js';
import { RECALL_TIME_MAX_MS, VECTOR_SAMPLE_DEFAULT } from '../../api/limits.js';
import type {
  RecallAnswer,
  RecallBody,
  SearchAnswer,
  SearchBody,
  SearchQuery,
  VectorSample,
  VectorSampleParameters,
} from '../../api/search.js';
import { withFaultCode } from '../../service/fault-code.js';
import { type LoggedResult, type Searcher, loggedSearch, sharedSearch } from '../../service/query-log/logged-search.js';
import type { LoggedSearch } from '../../service/query-log/queries.js';
import { measureRecall } from '../../service/recall/recall.js';
import { sampleVectors } from '../../service/recall/stored-vectors.js';
import { type SearchInput, settledInput } from '../../service/search/query.js';
import type { Services } from '../../service/services.js';
import { accountOf } from '../../service/tenants/actor.js';
import { SearchBodyReader, fitting, parseJson } from '../json-body.js';
import {
  INCLUDE_COMMON,
  K,
  MODE,
  type Operation,
  Q,
  VECTOR_SAMPLE,
  jsonAnswer,
  jsonRequest,
} from '../openapi/operation.js';
import { COLLECTION } from '../../api/route.js';
import {
  type Handler,
  READ_ONE,
  type Reply,
  type Request,
  type ListedRoute,
  SEARCH,
  collectionOf,
  get,
  numbersIn,
  post,
} from '../route.js';

/** Who searches, for the log. */
export const searcherOf = ({ actor, id }: Request): Searcher => ({ actor: actor.name, requestId: id });

/** `startedAtMs`: of the search, by performance.now(). */
function searchReply({ hits, mode, degraded, timing, queryId }: LoggedResult, startedAtMs: number): Reply {
  const fields = { mode, degraded, query_id: queryId };
  return {
    status: 200,
    jsonParts: [`{"matches":[${hits.join(',')}],${fieldsJson(fields, timing)}`],
    phases: { startedAtMs, timing },
  };
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

/** An object of nothing that has fields of its own. */
type Flat<T> = { readonly [Name in keyof T]: string | number | boolean | undefined };

/** The fields as JSON, without braces; numbers with three decimals, undefined ones left out. */
function fieldsJson<T extends Flat<T>>(fields: T, timing?: SearchTiming): string {
  const own = membersJson(fields);
  return timing ? `${own},"timing":{${membersJson(timing)}}` : own;
}

/** Field by field: an object of rounded values for JSON.stringify took three times as long. */
function membersJson<T extends Flat<T>>(fields: T): string {
  let json = '';
  for (const name in fields) {
    const value: string | number | boolean | undefined = fields[name];
    if (value === undefined) continue;
    json += `${json === '' ? '' : ','}"${name}":${typeof value === 'number' ? Math.round(value * 1000) / 1000 : JSON.stringify(value)}`;
  }
  return json;
}

const validateBody = typia.createValidateEquals<SearchBody>();
const validateQuery = typia.createValidate<SearchQuery>();

function postSearch(context: Services['search']): Handler {
  const bodies = new SearchBodyReader();
  return async (request) => {
    const [tenant, name] = collectionOf(request);
    const input = await bodyInput(request, bodies);
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
    const input = await bodyInput(request, bodies);
    return answer(() => sharedSearch(context, sharerOf(request), input));
  };
}

const getSharedSearch =
  (context: Services['search']): Handler =>
  async (request) => {
    const input = queryInput(request);
    return answer(() => sharedSearch(context, sharerOf(request), input));
  };

async function bodyInput(request: Request, bodies: SearchBodyReader): Promise<SearchInput> {
  const { body, vector } = bodies.read(await request.body.bytes());
  return settledInput(fitting(validateBody(body), 'body'), 'body', vector);
}

function queryInput(request: Request): SearchInput {
  return settledInput(fitting(validateQuery(valuesOf(request.query)), 'query'), 'query');
}

/** With the filters of the caller's key, and with what ends and traces the search. */
function callerOf(request: Request): Searcher {
  const { actor, departure: signal, trace } = request;
  const caller: Searcher = searcherOf(request);
  caller.signal = signal;
  if (actor.filters !== undefined) caller.embeddedFilters = actor.filters;
  if (trace) caller.traceparent = trace.traceparent;
  return caller;
}

const sharerOf = (request: Request): Searcher => ({ ...callerOf(request), account: accountOf(request.actor) });

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

const validateRecall = typia.createValidateEquals<RecallBody>();

const postRecall =
  (context: Services['recall']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const body = fitting(validateRecall(parseJson(await request.body.bytes(), true) ?? {}), 'body');
    const measured = await withFaultCode('search_failed', () =>
      measureRecall(context, tenant, name, body, request.signal),
    );
    const json: RecallAnswer = { tenant, collection: name, ...measured };
    return { status: 200, json };
  };

const validateSample = typia.createValidate<VectorSampleParameters>();

const getVectorSample =
  (context: Services['recall']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const { sample = VECTOR_SAMPLE_DEFAULT } = fitting(validateSample(numbersIn(request.query, 'sample')), 'query');
    const { dim, vectors } = await sampleVectors(context, tenant, name, sample, request.signal);
    const json: VectorSample = { tenant, collection: name, dim, vectors, count: vectors.length };
    return { status: 200, json };
  };

export function searchRoutes({ search, recall }: Pick<Services, 'search' | 'recall'>): ListedRoute[] {
  return [
    get('searchByQuery', `${COLLECTION}/search`, SEARCH, getSearch(search)),
    {
      ...post('search', `${COLLECTION}/search`, SEARCH, postSearch(search)),
      body: 'search',
      scope: 'search',
    },
    { ...post('measureRecall', `${COLLECTION}/recall`, [...SEARCH, 404], postRecall(recall)), scope: 'search' },
    get('sampleVectors', `${COLLECTION}/vectors`, [...READ_ONE, 503], getVectorSample(recall)),
    { ...get('searchSharedByQuery', '/v1/search', SEARCH, getSharedSearch(search)), access: 'any' },
    {
      ...post('searchShared', '/v1/search', [...SEARCH, 400], postSharedSearch(search)),
      body: 'search',
      access: 'any',
      scope: 'search',
    },
  ];
}

export const SEARCH_ANSWER: SearchAnswer = {
  matches: [
    {
      tenant: 'acme',
      collection: 'docs',
      id: 'nemo::chunk_0',
      score: 0.438,
      text: 'Captain Nemo commands the Nautilus.',
      meta: { docid: 'nemo', ingested_at: '2026-01-05T09:30:00.000Z', lang: 'en', offset: 0 },
      match_reason: 'vector: cosine 0.438',
    },
  ],
  mode: 'vector',
  query_id: '0198c2f1-6a07-7b52-8c11-90d3f3f5a1b2',
  timing: { embed_ms: 0.31, filter_ms: 0, hydrate_ms: 0.42, search_ms: 0.87 },
};

const REQUESTS: Record<string, SearchBody> = {
  text: { q: 'submarine captain', k: 3 },
  filtered: {
    q: 'submarine captain',
    filters: { lang: 'en', year: { $gte: 1870 } },
    content_filter: { op: 'phrase', value: 'captain nemo' },
  },
  fused: {
    q: 'submarine captain',
    mode: 'hybrid',
    fusion: { method: 'score', weights: { vector: 0.6, lexical: 0.4 } },
  },
  told: { q: 'submarine captain', mode: 'hybrid', explain: true, relevance: true, highlight: true },
  exact: { q: 'submarine captain', exact: true },
  reranked: { q: 'submarine captain', k: 3, rerank: { instance: 'cross', depth: 50 } },
};

const CODES: readonly ErrorCode[] = [
  'invalid_search_mode',
  'search_mode_disabled',
  'search_mode_requires_text',
  'vectors_only',
  'dim_mismatch',
  'incompatible_embedder_config',
  'embedder_unavailable',
  'search_failed',
];
const RERANK_CODES: readonly ErrorCode[] = ['invalid_rerank', 'reranker_unavailable'];
const CODES_OF_TEXT = CODES.filter((code) => code !== 'search_mode_requires_text' && code !== 'dim_mismatch');

const FILTERS = `\`filters\` narrow by metadata, before the ranking: a value is equality, a list is any of, \`null\` is absent; an object is operators
(\`$eq $ne $gt $gte $lt $lte $in $nin $exists $prefix\`); \`$and\`, \`$or\`, \`$not\` combine. \`content_filter\` narrows by the text of the chunk.`;
const RERANK = `\`rerank\` retrieves \`depth\` candidates in the mode asked for (50, or k where that is more), and a configured reranker, which reads each beside \`q\`,
orders them: \`score\` is then its score.`;
const FUSION = `\`fusion\` says how mode hybrid makes one score of its halves, by their ranks (\`weight/(k+rank)\`) or by their scores (\`weight * cosine + weight * BM25 / best BM25\`);
a half that weighs 0 is not searched. In another mode it is refused.`;
const TOLD = `\`explain\` adds the parts of its score to each hit, \`relevance\` an estimate of how probable it is that it is relevant, \`highlight\` the best passage of
its text and what matches in it.`;
const BREADTH =
  '`ef` is the breadth of the walk through the graph of each shard, `exact` compares with every vector instead.';
const RULES = `A collection that does not exist has no hits. ${FILTERS} ${RERANK} ${FUSION} ${BREADTH} ${TOLD}`;

const shared = {
  tag: 'Search' as const,
  description: 'Any valid key may search it. Empty while the shared scope is switched off. It is not logged.',
};

export const SEARCH_OPERATIONS = {
  searchByQuery: {
    tag: 'Search',
    summary: 'Search a collection by query string',
    description: 'Takes no filters; POST does. A collection that does not exist has no hits.',
    query: [Q, K, MODE, INCLUDE_COMMON],
    answer: jsonAnswer('SearchAnswer', SEARCH_ANSWER),
    codes: CODES_OF_TEXT,
  },
  search: {
    tag: 'Search',
    summary: 'Search a collection by text or vector',
    description: RULES,
    request: {
      required: true,
      content: jsonRequest('SearchBody', { ...REQUESTS, vector: { v: [0.1, 0.7, -0.2], k: 10 } }),
    },
    answer: jsonAnswer('SearchAnswer', SEARCH_ANSWER),
    codes: [...CODES, ...RERANK_CODES],
  },
  measureRecall: {
    tag: 'Search',
    summary: 'How much of the true nearest the searches of a collection find',
    description: `Compares up to \`sample\` queries with exact search: those of the query log (their vectors, without filters), or stored vectors, which are then left
out of what they find. A hit that scores as high as the last of the true k nearest counts. It takes ${RECALL_TIME_MAX_MS / 1000} s at most (\`cut\`), and gives way to searches.`,
    request: {
      required: false,
      content: jsonRequest('RecallBody', { defaults: {}, stored: { sample: 500, k: 10, ef: 200, source: 'stored' } }),
    },
    answer: jsonAnswer('RecallAnswer', {
      tenant: 'acme',
      collection: 'docs',
      recall: 0.991,
      lowest: 0.8,
      k: 10,
      queries: 100,
      source: 'log',
      ef: 64,
      settled: true,
      qps: 3120,
      exact_qps: 95,
    }),
    codes: ['collection_not_found', 'embedder_unavailable', 'search_failed'],
  },
  sampleVectors: {
    tag: 'Search',
    summary: 'A sample of the stored vectors, for plots',
    description: `Spread evenly over the collection; the same ones as long as it does not change. Components are rounded to a byte: a component is its byte times \`scale\`.`,
    query: [VECTOR_SAMPLE],
    answer: jsonAnswer('VectorSample', {
      tenant: 'acme',
      collection: 'docs',
      dim: 4,
      vectors: [{ rid: 'nemo::chunk_0', scale: 0.0061, components: 'fwDxgQ==' }],
      count: 1,
    }),
    codes: ['collection_not_found'],
  },
  searchSharedByQuery: {
    ...shared,
    summary: 'Search the shared scope by query string',
    query: [Q, K, MODE],
    answer: jsonAnswer('SearchAnswer', { ...SEARCH_ANSWER, query_id: undefined }),
    codes: CODES_OF_TEXT,
  },
  searchShared: {
    ...shared,
    summary: 'Search the shared scope by text',
    description: `${shared.description} A vector is refused: \`vector_query_not_allowed\`. ${FILTERS} ${RERANK} ${FUSION} ${BREADTH} ${TOLD}`,
    request: { required: true, content: jsonRequest('SearchBody', REQUESTS) },
    answer: jsonAnswer('SearchAnswer', { ...SEARCH_ANSWER, query_id: undefined }),
    codes: [...CODES_OF_TEXT, ...RERANK_CODES, 'vector_query_not_allowed'],
  },
} satisfies Record<string, Operation>;
