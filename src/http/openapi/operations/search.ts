// Entries of the search operations.
// Read by ../operations.ts. Constants.
import type { SearchAnswer, SearchBody } from '../../../contract/api/search.js';
import type { ErrorCode } from '../../../contract/errors.js';
import { RECALL_TIME_MAX_MS } from '../../../contract/limits.js';
import { jsonAnswer, jsonRequest, type Operation } from '../operation.js';
import { INCLUDE_COMMON, K, MODE, Q, VECTOR_SAMPLE } from '../parameters.js';

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
