// Searches, of a collection and of the shared scope: bodies and routes.
import typia, { type tags } from 'typia';
import { SEARCH_MODES, type SearchMode } from './choices.js';
import type { ErrorCode } from './errors.js';
import { SEARCH_TEXT, VECTOR, exactlyOne } from './parameters.js';
import { COLLECTION, type Parameter, json, ownRoute, routes } from './route.js';
import { type EF_MAX, type FUSION_K_MAX, type FUSION_WEIGHT_MAX, K_DEFAULT, K_MAX } from './limits.js';

export type K = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof K_MAX>;

export type Ef = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof EF_MAX>;

export type ContentOp = 'exact' | 'phrase' | 'prefix' | 'contains';

/** Narrows the hits to chunks whose text fits. */
export interface ContentFilter {
  op: ContentOp;
  value: string & tags.MinLength<1>;
}

/** Retrieves more candidates than k, and orders them by how well a reranker says that they answer `q`. */
export interface Rerank {
  /** Key of a configured reranker. */
  instance: string & tags.MinLength<1>;
  /** How many candidates it reads, at least k. */
  depth?: K | null;
}

type FusionWeight = number & tags.Minimum<0> & tags.Maximum<typeof FUSION_WEIGHT_MAX>;

/** How mode hybrid makes one score of its halves. */
export interface Fusion {
  /** `rank`: weight / (k + rank); `score`: weight * cosine and weight * BM25 over the best BM25. */
  method: 'rank' | 'score';
  /** Of method `rank`: 60 where the instance says nothing else. */
  k?: (number & tags.Type<'uint32'> & tags.Maximum<typeof FUSION_K_MAX>) | null;
  /**
   * A half that weighs 0 is not searched; one of them weighs something. By default 1 and 1, of method `score` 0.6 and
   * 0.4.
   */
  weights?: { vector: FusionWeight; lexical: FusionWeight } | null;
}

/**
 * How the index is searched: one object, handed on whole from the body of a search to the plan of each index
 * (engine/hnsw/search-plan.ts).
 */
export interface SearchParams {
  /**
   * Breadth of the walk through the graph of each shard: more finds more, and takes longer. Omitted: chosen so that
   * recall@10 is at least .97. Not together with `exact`.
   */
  ef?: Ef;
  /** Compares the query with every vector that the filters leave. */
  exact?: boolean;
}

/** What the hits of a search tell beside their score. */
export interface HitOptions {
  /** Adds to each hit the parts of its score. */
  explain?: boolean;
  /** Adds to each hit how probable it is that it is relevant. */
  relevance?: boolean;
  /** Adds to each hit with a text the passage of it that fits `q` best. */
  highlight?: boolean;
}

/** Fields of a body: each may be left out, and `null` says the same. */
type Nullable<T> = { [Name in keyof T]?: T[Name] | null };

/** As the query log keeps what was given: a number without the bounds of today, and a boolean only where it is true. */
type Kept<T> = T extends boolean ? true : T extends number ? number : T;

/** The parameters and options of a search in its entry of the query log. */
export type LoggedParams = {
  [Name in keyof (SearchParams & HitOptions)]?: Kept<NonNullable<(SearchParams & HitOptions)[Name]>>;
};

/** Exactly one of `q` and `v`. `null` counts as absent; there are no other fields. */
export interface SearchBody extends Nullable<SearchParams>, Nullable<HitOptions> {
  q?: string | null;
  v?: number[] | null;
  k?: K | null;
  /**
   * Metadata filters, ANDed: field to value, list of values (any of them), or operators `{"$gte": 5}`; `$and`, `$or`,
   * `$not` at the top.
   */
  filters?: Record<string, unknown> | null;
  content_filter?: ContentFilter | null;
  /** `vector`, `boost` or `hybrid`; omitted: the collection's default. The latter two want `q`. */
  mode?: string | null;
  /** Adds what the common collection has, where the server has one. */
  include_common?: boolean | null;
  /** Wants `q`. */
  rerank?: Rerank | null;
  /** Of mode hybrid; in others it is refused. */
  fusion?: Fusion | null;
}

/** The query-string form. */
export interface SearchQuery {
  q: string;
  k?: K;
  mode?: string;
  include_common?: boolean;
}

/**
 * What a hit's score is made of, as far as its mode looks at it. Scores are before the priority where nothing else is
 * said.
 */
export interface Explanation {
  /** `rank`: in the ranking by vector, from 1. */
  vector?: { cosine: number; rank?: number };
  /**
   * `share`: BM25 over the best BM25 of the search. `terms`: those of the query that the chunk has, as they are
   * indexed.
   */
  lexical?: { bm25: number; rank?: number; share?: number; terms: { term: string; bm25: number }[] };
  /** What it gained for the words of the query that it has. */
  boost?: { matched: number; wanted: number; boost: number };
  fusion?: { method: 'rank' | 'score'; k?: number; weights: { vector: number; lexical: number } };
  /** The score of the mode. */
  fused: number;
  rerank?: { instance: string; score: number };
  /** Of the document: the score is s + |s| * priority of what comes before it. */
  priority?: number;
  /** As the hit has it. */
  score: number;
}

/** A passage of a chunk, as it stands there. Positions are in characters (Unicode code points). */
export interface Highlight {
  text: string;
  /** Where the passage begins in the chunk. */
  offset: number;
  /** Start and end of what was found, in the passage. */
  matches: [number, number][];
}

export interface SearchHit {
  tenant: string;
  collection: string;
  /** Chunk id. */
  id: string;
  /** Higher is closer. */
  score: number;
  text?: string;
  meta: Record<string, unknown>;
  match_reason: string;
  explain?: Explanation;
  /** An estimate of how probable it is that the hit is relevant, from 0 to 1. */
  relevance?: number;
  highlight?: Highlight;
}

/** All in ms. */
export interface SearchTiming {
  embed_ms: number;
  filter_ms: number;
  hydrate_ms: number;
  search_ms: number;
  /** Of mode hybrid. */
  lexical_search_ms?: number;
  vector_search_ms?: number;
  /** Where the hits were reranked. */
  rerank_ms?: number;
}

export interface SearchAnswer {
  /** Best first. */
  matches: SearchHit[];
  mode?: SearchMode;
  /** Ranked by words alone: the embedder did not answer. Absent otherwise. */
  degraded?: true;
  /** For the query log's endpoints; absent when logging is off. */
  query_id?: string;
  timing?: SearchTiming;
}

/** What each half of mode hybrid counts for: one of 0 is not searched. */
export interface FusionWeights {
  vector: number;
  lexical: number;
}

/** How mode hybrid makes one score of its halves: weight / (k + rank), or weight * score. */
export type FusionSettings =
  | { method: 'rank'; k: number; weights: FusionWeights }
  | { method: 'score'; weights: FusionWeights };

/** How a search is reranked. */
export interface RerankSettings {
  /** Key of the reranker. */
  instance: string;
  /** How many candidates it reads. */
  depth: number;
}

/** What a search was narrowed by, as its hits tell it. */
export interface Narrowed {
  readonly fields: readonly string[];
  readonly contentOp?: ContentOp;
}

export const checkSearchBody = typia.createValidateEquals<SearchBody>();
export const checkSearchQuery = typia.createValidate<SearchQuery>();

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

const Q: Parameter = {
  name: 'q',
  description: 'Search text.',
  required: true,
  schema: { type: 'string', ...SEARCH_TEXT },
  example: 'submarine captain',
};
const HOW_MANY: Parameter = {
  name: 'k',
  description: 'How many hits at most.',
  schema: { type: 'integer', minimum: 1, maximum: K_MAX, default: K_DEFAULT },
};
const MODE: Parameter = {
  name: 'mode',
  description: "Omitted: the collection's.",
  schema: { type: 'string', enum: [...SEARCH_MODES] },
};
const INCLUDE_COMMON: Parameter = {
  name: 'include_common',
  description: 'Whether hits of the common collection are added, where the server has one.',
  schema: { type: 'boolean', default: false },
};

const REFINEMENTS = {
  SearchBody: exactlyOne('q', 'v'),
  'SearchBody.q': SEARCH_TEXT,
  'SearchBody.v': VECTOR,
  'SearchBody.k': { default: K_DEFAULT, description: 'How many hits at most.' },
  'SearchBody.mode': {
    enum: [...SEARCH_MODES, null],
    description: "Omitted: the collection's. `boost` and `hybrid` want `q`.",
  },
  'Rerank.depth': { description: 'How many candidates are read, at least k. Omitted: 50, or k where that is more.' },
};

const BODY = typia.json.schema<SearchBody>();
const ANSWER = typia.json.schema<SearchAnswer>();

const ofCollection = {
  path: `${COLLECTION}/search`,
  access: 'tenant',
  scope: 'search',
  tag: 'Search',
  answer: json(ANSWER, { answer: SEARCH_ANSWER }),
} as const;

const shared = {
  path: '/v1/search',
  access: 'any',
  scope: 'search',
  tag: 'Search',
  description: 'Any valid key may search it. Empty while the shared scope is switched off. It is not logged.',
  answer: json(ANSWER, { answer: { ...SEARCH_ANSWER, query_id: undefined } }),
} as const;

export const SEARCH_ROUTES = routes({
  searchByQuery: ownRoute({
    ...ofCollection,
    method: 'GET',
    summary: 'Search a collection by query string',
    description: 'Takes no filters; POST does. A collection that does not exist has no hits.',
    query: [Q, HOW_MANY, MODE, INCLUDE_COMMON],
    codes: CODES_OF_TEXT,
  }),
  search: ownRoute({
    ...ofCollection,
    method: 'POST',
    summary: 'Search a collection by text or vector',
    description: RULES,
    body: 'search',
    request: {
      required: true,
      content: json(BODY, { ...REQUESTS, vector: { v: [0.1, 0.7, -0.2], k: 10 } }, REFINEMENTS),
    },
    codes: [...CODES, ...RERANK_CODES],
  }),
  searchSharedByQuery: ownRoute({
    ...shared,
    method: 'GET',
    summary: 'Search the shared scope by query string',
    query: [Q, HOW_MANY, MODE],
    codes: CODES_OF_TEXT,
  }),
  searchShared: ownRoute({
    ...shared,
    method: 'POST',
    keeps400: true,
    summary: 'Search the shared scope by text',
    description: `${shared.description} A vector is refused: \`vector_query_not_allowed\`. ${FILTERS} ${RERANK} ${FUSION} ${BREADTH} ${TOLD}`,
    body: 'search',
    request: { required: true, content: json(BODY, REQUESTS, REFINEMENTS) },
    codes: [...CODES_OF_TEXT, ...RERANK_CODES, 'vector_query_not_allowed'],
  }),
});
