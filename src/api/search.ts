// Searches of a collection and of the shared scope: bodies and routes.
import typia, { type tags } from 'typia';
import { SEARCH_MODES, type SearchMode } from './choices.js';
import type { ErrorCode, ErrorType, ValidationDetail } from './errors.js';
import { SEARCH_TEXT, VECTOR, V_BASE64, exactlyOne } from './parameters.js';
import { COLLECTION, type Parameter, json, ownRoute, routes } from './route.js';
import {
  type BOOST_FACTOR_MAX,
  type BOOST_FIELDS_MAX,
  type CONTEXT_MAX,
  type CURSOR_CHARACTERS_MAX,
  type EF_MAX,
  type FILTER_FIELD_CHARACTERS_MAX,
  type FUSION_K_MAX,
  type FUSION_WEIGHT_MAX,
  type HIT_FIELDS_MAX,
  K_DEFAULT,
  K_MAX,
  type LIKE_IDS_MAX,
  type QUERIES_MAX,
  type REACH_MAX,
  SEARCHED_COLLECTIONS_MAX,
  SEARCHES_MAX,
} from './limits.js';

export type K = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof K_MAX>;

export type Ef = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof EF_MAX>;

export type ContentOp = 'exact' | 'phrase' | 'prefix' | 'contains';

/** Restricts the hits to chunks whose text matches. */
export interface ContentFilter {
  op: ContentOp;
  value: string & tags.MinLength<1>;
}

/** Retrieves more than `k` candidates and orders them by a reranker's score of how well they answer `q`. */
export interface Rerank {
  /** Key of a configured reranker. */
  instance: string & tags.MinLength<1>;
  /** Number of candidates to rerank, at least `k`. */
  depth?: K | null;
}

type FusionWeight = number & tags.Minimum<0> & tags.Maximum<typeof FUSION_WEIGHT_MAX>;

/** How mode `hybrid` combines the scores of its two halves, or a search its `queries`. */
export interface Fusion {
  /**
   * `rank`: weight / (k + rank). `score`: weight * cosine, and weight * BM25 / best BM25; for `queries`, weight * score.
   */
  method: 'rank' | 'score';
  /** For method `rank` only. Default: the server's setting, else 60. */
  k?: (number & tags.Type<'uint32'> & tags.Maximum<typeof FUSION_K_MAX>) | null;
  /**
   * Weights of the halves, at least one of them above 0. A half with weight 0 is not searched. Default: 1 and 1; for
   * method `score`, 0.6 and 0.4.
   */
  weights?: { vector: FusionWeight; lexical: FusionWeight } | null;
  /**
   * For `queries` only: the number of best hits of each query that are fused, at least `offset + k`. Default: 50, or 5 k
   * if that is more.
   */
  depth?: K | null;
}

/** One of several queries of a search, with exactly one of `q`, `v`, `v_base64` and `like`. */
export interface FusedQuery {
  q?: string | null;
  v?: number[] | null;
  v_base64?: string | null;
  like?: Like | null;
  /** Default: the mode of the search; `vector` for a query without a text. */
  mode?: string | null;
  /** How mode `hybrid` combines the halves of this query. */
  fusion?: Fusion | null;
  /** Default: 1. */
  weight?: FusionWeight | null;
}

/**
 * How the index is searched. This one object goes unchanged from the body of a search to the plan of each index
 * (engine/hnsw/search-plan.ts).
 */
export interface SearchParams {
  /**
   * Number of candidates that the graph search of each shard keeps: a larger `ef` finds more and takes longer. Default:
   * chosen for a recall@10 of at least .97. Cannot be combined with `exact`.
   */
  ef?: Ef;
  /** Compares the query with every vector that passes the filters, instead of searching the graph. */
  exact?: boolean;
}

/** Which words of the chunks the words of `q` match, in the modes `boost` and `hybrid`. */
export interface WordOptions {
  /**
   * Finds words in spite of typing errors: a word that no chunk has stands for those with the fewest edits, one edit
   * from 4 letters on, two from 8 letters on. Words that occur match themselves only.
   */
  fuzzy?: Fuzzy;
  /** The last word of `q` may be the beginning of a word, unless a space follows it. */
  prefix?: boolean;
  /** Whether the synonyms of the collection apply. Default: true. */
  synonyms?: boolean;
  /**
   * Reads signs in `q`: `"a phrase"` is required, `-word` and `-"a phrase"` are excluded, and `OR` between words requires
   * any of them. Applies in all modes.
   */
  syntax?: boolean;
}

/** `true`, or the most edits. An edit inserts, deletes or replaces a letter, or swaps two neighbours. */
type Fuzzy = boolean | { edits: 1 | 2 };

/** Which of the ranked chunks an answer has. */
export interface ResultOptions {
  /** Number of hits to leave out at the beginning. `offset` and `k` together are at most 10,000. */
  offset?: number & tags.Type<'uint32'> & tags.Maximum<typeof REACH_MAX>;
  /** Leaves out hits with a lower score. */
  min_score?: number;
  /** Leaves out hits whose estimated relevance is lower. */
  min_relevance?: number & tags.Minimum<0> & tags.Maximum<1>;
  /**
   * Groups the hits by `docid` or by a metadata field: `k` and `offset` then count groups, and hits follow group by
   * group, each with its `group`. A chunk with several values belongs to the best group that has one of them; chunks
   * without the field form a group.
   */
  group_by?: HitField;
  /** Number of hits of each group. `k * group_size` is at most 1,000. Default: 1. */
  group_size?: K;
  /** Picks hits that are relevant and unlike each other. */
  diversity?: Diversity;
  /** Changes the scores of the best hits by their metadata, and orders them anew. */
  boost_by?: BoostBy;
}

/** The boost of a hit is the sum of what its fields give, each times its weight. */
export interface BoostBy {
  fields: BoostField[] & tags.MinItems<1> & tags.MaxItems<typeof BOOST_FIELDS_MAX>;
  /** `multiply`: score + |score| * boost. `sum`: score + boost. Default: `multiply`. */
  combine?: 'multiply' | 'sum' | null;
  /** The number of best hits that are boosted, at least `offset + k`. Default: 50, or 5 k if that is more. */
  depth?: K | null;
}

type BoostFactor = number & tags.Minimum<-1_000_000> & tags.Maximum<typeof BOOST_FACTOR_MAX>;
/** A number, or the length of a time such as `30d`: with the units `s`, `m`, `h`, `d`, `w`. */
type Extent = number | (string & tags.MaxLength<32>);

/**
 * What a field gives: its value, or with `decay` how near the value is to `origin`, from 1 to 0. Numbers and decimal texts
 * count; `true` counts as 1 and `false` as 0; with a time as `origin`, ISO times count. Of a list, the element that gives
 * most counts.
 */
export interface BoostField {
  /** A metadata field. */
  field: HitField;
  /** Default: 1. */
  weight?: BoostFactor | null;
  /** Multiplies the value. Default: 1. */
  factor?: BoostFactor | null;
  /**
   * What is made of x, the value times `factor`: x itself, ln(1 + x), the square root of x, or x / (1 + x). Negative x
   * count as 0, except for `none`. Default: `none`.
   */
  modifier?: 'none' | 'log1p' | 'sqrt' | 'saturation' | null;
  /** With x = max(0, |value - origin| - offset) / scale: 1 - (1 - at_scale) x, at least 0; at_scale^x; at_scale^(x^2). */
  decay?: 'linear' | 'exponential' | 'gaussian' | null;
  /** A number, an ISO time, or `now`. */
  origin?: number | (string & tags.MaxLength<64>) | null;
  /** The distance from `origin`, beyond `offset`, at which the field gives `at_scale`. */
  scale?: Extent | null;
  /** The distance from `origin` up to which the field gives 1. Default: 0. */
  offset?: Extent | null;
  /** Default: 0.5. */
  at_scale?: (number & tags.ExclusiveMinimum<0> & tags.ExclusiveMaximum<1>) | null;
  /** What a chunk without such a value is given. Default: 0. */
  missing?: BoostFactor | null;
}

/** Maximal marginal relevance: lambda * relevance - (1 - lambda) * greatest similarity to a hit before. */
export interface Diversity {
  /** 1 ranks by relevance only, 0 by dissimilarity only. */
  lambda: number & tags.Minimum<0> & tags.Maximum<1>;
  /** The number of best hits that are picked from, at least `offset + k`. Default: 50, or 5 k if that is more. */
  candidates?: K | null;
}

type ExampleIds = string[] & tags.MaxItems<typeof LIKE_IDS_MAX>;

/** Stored documents and chunks as examples. They are no hits themselves. */
export interface Like {
  docids?: ExampleIds | null;
  /** Chunk ids. */
  chunks?: ExampleIds | null;
  /** Counterexamples. */
  not?: { docids?: ExampleIds | null; chunks?: ExampleIds | null } | null;
}

/** The order of the hits of a search by filters alone. */
export interface Sort {
  /** A metadata field, or `docid` for the order of documents. Default: `docid`. */
  field?: HitField | null;
  /** Default: `asc`. Values are ordered within their kind; chunks without a value are last in both orders. */
  order?: 'asc' | 'desc' | null;
}

type HitField = string & tags.MinLength<1> & tags.MaxLength<typeof FILTER_FIELD_CHARACTERS_MAX>;

/** Optional parts of the hits of a search. */
export interface HitOptions {
  /** Adds to each hit the parts of its score. */
  explain?: boolean;
  /** Adds to each hit an estimate of the probability that it is relevant. */
  relevance?: boolean;
  /** Adds to each hit with a text the passage that matches `q` best. */
  highlight?: boolean;
  /** Adds to each hit its text joined with that of so many chunks before and after it, without repeating overlaps. */
  context?: number & tags.Type<'uint32'> & tags.Maximum<typeof CONTEXT_MAX>;
  /** Adds to each hit the stored vector of its chunk. */
  with_vector?: boolean;
  /**
   * Which of `text`, `meta` and `match_reason` hits have; `meta.KEY` stands for one metadata key. Default: all. Fields of
   * a hit that are left out are absent (`text`) or empty.
   */
  include?: HitField[] & tags.MaxItems<typeof HIT_FIELDS_MAX>;
  /** Which of these fields hits do not have. */
  exclude?: HitField[] & tags.MaxItems<typeof HIT_FIELDS_MAX>;
}

/** The fields of a body: each may be absent or `null`, with the same meaning. */
type Nullable<T> = { [Name in keyof T]?: T[Name] | null };

/** The form in which the query log keeps a field: without today's bounds, and booleans only if true. */
type Kept<T> = T extends boolean ? true : T extends number ? number : T extends string[] ? string[] : T;

type Options = SearchParams & ResultOptions & HitOptions;

/** Word options as an entry of the query log has them. */
export interface LoggedWords {
  fuzzy?: true | { edits: 1 | 2 };
  prefix?: true;
  synonyms?: false;
  syntax?: true;
}

/** The options of a search as an entry of the query log has them. */
export type LoggedParams = { [Name in keyof Options]?: Kept<NonNullable<Options[Name]>> } & LoggedWords;

/**
 * A search with exactly one of `q`, `v`, `v_base64`, `like`, `queries` and `sort`. `null` counts as absent; other fields
 * are rejected.
 */
export interface SearchBody
  extends Nullable<SearchParams>,
    Nullable<WordOptions>,
    Nullable<ResultOptions>,
    Nullable<HitOptions> {
  q?: string | null;
  v?: number[] | null;
  v_base64?: string | null;
  /** Searches by the vectors of stored documents and chunks. */
  like?: Like | null;
  /** Searches by several queries, and fuses their hits: by rank if `fusion` does not say otherwise. */
  queries?: (FusedQuery[] & tags.MinItems<1> & tags.MaxItems<typeof QUERIES_MAX>) | null;
  k?: K | null;
  /**
   * Metadata filters, combined by AND. Maps a field to a value, to a list of accepted values, or to operators such as
   * `{"$gte": 5}`; `$and`, `$or` and `$not` combine filters.
   */
  filters?: Record<string, unknown> | null;
  content_filter?: ContentFilter | null;
  /** `vector`, `boost` or `hybrid`; the latter two require `q`. Default: the mode of the collection. */
  mode?: string | null;
  /** Adds hits of the common collection, if the server has one. */
  include_common?: boolean | null;
  /**
   * `staged`: searches the vector space that a reindex builds, as far as it has been built, or the one before the last
   * switch while that is kept. Such a search is not logged. Default: `live`.
   */
  space?: 'live' | 'staged' | null;
  /** Reranks the hits. Requires `q`. */
  rerank?: Rerank | null;
  /** How mode `hybrid` combines its halves, or how `queries` are combined. Rejected in other searches. */
  fusion?: Fusion | null;
  /**
   * `*` for the first page; then the `next_cursor` of the answer before, with the same body otherwise. Pages neither
   * repeat nor leave out a hit while the documents do not change. Cannot be combined with `offset`.
   */
  cursor?: (string & tags.MinLength<1> & tags.MaxLength<typeof CURSOR_CHARACTERS_MAX>) | null;
  /** Answers the chunks that fit the filters in this order, exactly, without a ranking. */
  sort?: Sort | null;
  /** Whether hits have the text of their chunk. Default: true. */
  with_text?: boolean | null;
}

/** Searches of one collection, each as in a single search. */
export interface SearchBatchBody {
  searches: SearchBody[];
}

/** A search of several collections of a tenant. */
export interface CollectionsSearchBody extends SearchBody {
  /** Names or aliases of the collections. */
  collections: string[] & tags.MinItems<1> & tags.MaxItems<typeof SEARCHED_COLLECTIONS_MAX>;
  /**
   * How the hits are merged. `score`: by their scores, which wants one vector space and mode `vector`, or `rerank`.
   * `rank`: first the best hit of each collection, then the second of each, and so on. Default: `score` where it is
   * possible, else `rank`.
   */
  merge?: MergeMethod | null;
}

export type MergeMethod = 'score' | 'rank';

/** A search in the query string. */
export interface SearchQuery {
  q: string;
  k?: K;
  mode?: string;
  include_common?: boolean;
}

/** The parts of a hit's score, as far as its mode uses them. Scores are before the priority unless noted. */
export interface Explanation {
  /** `rank` is the position in the ranking by vector, from 1. */
  vector?: { cosine: number; rank?: number };
  /**
   * `share` is BM25 divided by the best BM25 of the search. `terms` are the query terms that the chunk contains, as
   * they are indexed; `for` is the word of the query that a term stands for, if it is another one.
   */
  lexical?: { bm25: number; rank?: number; share?: number; terms: { term: string; bm25: number; for?: string }[] };
  /** Bonus for the query terms that the chunk contains. A term that stands for another one counts by its weight. */
  boost?: { matched: number; wanted: number; boost: number };
  fusion?: { method: 'rank' | 'score'; k?: number; weights: { vector: number; lexical: number } };
  /** The queries that found the hit, by their index in `queries`: rank and score in the search of each. */
  queries?: {
    method: 'rank' | 'score';
    k?: number;
    found: { query: number; rank: number; score: number; weight: number }[];
  };
  /** Score of the mode, before boosts by metadata, reranking and priority. */
  fused: number;
  /**
   * The boost by metadata: what each field gives, their sum times the weights, and the score with it, before the priority.
   * `value` is absent for a chunk without such a value.
   */
  boost_by?: {
    combine: 'multiply' | 'sum';
    fields: { field: string; value?: number | string | boolean; gives: number; weight: number }[];
    boost: number;
    score: number;
  };
  rerank?: { instance: string; score: number };
  /** Priority of the document. It turns a score s into s + |s| * priority. */
  priority?: number;
  /** Final score, as in the hit. */
  score: number;
}

/** An unchanged passage of a chunk. Positions are in characters (Unicode code points). */
export interface Highlight {
  text: string;
  /** Start of the passage in the chunk. */
  offset: number;
  /** Start and end of each match in the passage. */
  matches: [number, number][];
}

/** A hit's text with those of its neighbours in the document. */
export interface HitContext {
  text: string;
  /** Ids of the chunks in it, in order. */
  chunks: string[];
}

export interface SearchHit {
  tenant: string;
  collection: string;
  /** Chunk id. */
  id: string;
  /** A higher score is a better match. */
  score: number;
  text?: string;
  meta: Record<string, unknown>;
  match_reason: string;
  explain?: Explanation;
  /** Estimated probability that the hit is relevant, from 0 to 1. */
  relevance?: number;
  highlight?: Highlight;
  /** The stored vector of the chunk. */
  vector?: number[];
  context?: HitContext;
  /** The value of the field by which hits are grouped; null for chunks without it. */
  group?: string | number | boolean | null;
}

/** Times in milliseconds. */
export interface SearchTiming {
  embed_ms: number;
  filter_ms: number;
  hydrate_ms: number;
  search_ms: number;
  /** For mode `hybrid` only. */
  lexical_search_ms?: number;
  vector_search_ms?: number;
  /** Present if hits were reranked. */
  rerank_ms?: number;
}

export interface SearchAnswer {
  /** Best first. */
  matches: SearchHit[];
  mode?: SearchMode;
  /** True if hits were ranked by keywords only, because the embedder did not answer. Absent otherwise. */
  degraded?: true;
  /** The `cursor` of the next page. Present if the search has a `cursor` and more hits follow. */
  next_cursor?: string;
  /** Id of this search in the query log; absent if it was not logged. */
  query_id?: string;
  timing?: SearchTiming;
}

/** What a search of several collections did in one of them. */
export interface CollectionSearched {
  /** Its name, also if it was given by an alias. */
  collection: string;
  mode: SearchMode;
  /** True if its hits were ranked by keywords only, because the embedder did not answer. Absent otherwise. */
  degraded?: true;
  /** Id of the search in the query log of the collection; absent if it was not logged. */
  query_id?: string;
  timing: SearchTiming;
}

export interface CollectionsSearchAnswer {
  /** Best first. Each hit names its collection, and has the score that it has in a search of that collection. */
  matches: SearchHit[];
  merge: MergeMethod;
  /** In the order of the request. */
  searches: CollectionSearched[];
}

/** The answer to a search of a batch, without the fields that all answers have. */
export interface BatchSearchAnswer extends SearchAnswer {
  ok: true;
}

/** The error of a search of a batch, as if it had been sent alone. Places in `detail` are those in its own body. */
export interface BatchSearchError {
  ok: false;
  code: string;
  error: string;
  error_type?: ErrorType;
  details?: Record<string, unknown>;
  detail?: ValidationDetail[];
}

export type BatchSearchResult = BatchSearchAnswer | BatchSearchError;

export interface SearchBatchAnswer {
  /** A result for each search, in order. */
  results: BatchSearchResult[];
}

/** Weight of each half of mode `hybrid`; a half with weight 0 is not searched. */
export interface FusionWeights {
  vector: number;
  lexical: number;
}

/** How mode `hybrid` combines its halves: weight / (k + rank), or weight * score. */
export type FusionSettings =
  | { method: 'rank'; k: number; weights: FusionWeights }
  | { method: 'score'; weights: FusionWeights };

/** How the hits of several queries are combined: weight / (k + rank), or weight * score. */
export type QueriesFusion = { method: 'rank'; k: number } | { method: 'score' };

/** Resolved reranking settings of a search. */
export interface RerankSettings {
  /** Key of the reranker. */
  instance: string;
  /** Number of candidates to rerank. */
  depth: number;
}

/** The filters of a search as its hits report them in `match_reason`. */
export interface FilteredBy {
  readonly fields: readonly string[];
  readonly contentOp?: ContentOp;
}

export const checkSearchBody = typia.createValidateEquals<SearchBody>();
export const checkCollectionsSearchBody = typia.createValidateEquals<CollectionsSearchBody>();
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
  alike: { like: { docids: ['nemo'] }, k: 5 },
  several: {
    queries: [
      { q: 'submarine captain' },
      { q: 'Nautilus', mode: 'hybrid', weight: 0.5 },
      { like: { docids: ['nemo'] } },
    ],
    fusion: { method: 'rank', depth: 100 },
  },
  sorted: { filters: { lang: 'en' }, sort: { field: 'year', order: 'desc' }, k: 20 },
  forgiving: { q: 'submarine "captain nemo" -whale natilus', mode: 'hybrid', fuzzy: true, syntax: true },
  told: { q: 'submarine captain', mode: 'hybrid', explain: true, relevance: true, highlight: true },
  boosted: {
    q: 'submarine captain',
    boost_by: {
      fields: [
        { field: 'year', decay: 'gaussian', origin: 1870, scale: 10, weight: 0.5 },
        { field: 'reads', modifier: 'log1p', weight: 0.1 },
      ],
    },
  },
  exact: { q: 'submarine captain', exact: true },
  reranked: { q: 'submarine captain', k: 3, rerank: { instance: 'cross', depth: 50 } },
};

const VECTOR_REQUESTS: Record<string, SearchBody> = {
  vector: { v: [0.1, 0.7, -0.2], k: 10 },
  base64: { v_base64: 'zczMPTMzMz/NzEy+', k: 10 },
};

const BATCH_REQUEST: SearchBatchBody = {
  searches: [
    { q: 'submarine captain', k: 3 },
    { v: [0.1, 0.7, -0.2], k: 10 },
  ],
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

const FILTERS = `\`filters\` restrict the hits by metadata, before the ranking: a value means equality, a list any of its values, \`null\` an absent field, and an object has operators
(\`$eq $ne $gt $gte $lt $lte $in $nin $exists $prefix\`, \`$date\` for ISO 8601 dates and times, \`$geo_radius\` and \`$geo_box\` for values \`{lat, lon}\`); \`$and\`, \`$or\`, \`$not\` combine filters. \`content_filter\` restricts by the text of the chunk.`;
const RERANK = `\`rerank\` retrieves \`depth\` candidates in the requested mode (50, or k if that is larger). A configured reranker, which reads each together with \`q\`,
orders them; \`score\` is then its score.`;
const FUSION = `\`fusion\` determines how mode hybrid combines its halves: by their ranks (\`weight/(k+rank)\`) or by their scores (\`weight * cosine + weight * BM25 / best BM25\`);
a half with weight 0 is not searched. Other modes reject \`fusion\`.`;
const TOLD = `\`explain\` adds the parts of its score to each hit, \`relevance\` an estimate of the probability that it is relevant, \`highlight\` the best passage of
its text with the matches in it.`;
const EF =
  '`ef` is the number of candidates that the graph search of each shard keeps; `exact` compares with every vector instead.';
const WORDS =
  '`fuzzy` forgives typing errors, `prefix` completes the last word, `syntax` reads quotes, minus and OR, and the synonyms of the collection apply.';
const RULES = `A collection that does not exist has no hits. ${FILTERS} ${RERANK} ${FUSION} ${EF} ${WORDS} ${TOLD}`;

const Q: Parameter = {
  name: 'q',
  description: 'Search text.',
  required: true,
  schema: { type: 'string', ...SEARCH_TEXT },
  example: 'submarine captain',
};
const HOW_MANY: Parameter = {
  name: 'k',
  description: 'Maximum number of hits.',
  schema: { type: 'integer', minimum: 1, maximum: K_MAX, default: K_DEFAULT },
};
const MODE: Parameter = {
  name: 'mode',
  description: "Default: the collection's mode.",
  schema: { type: 'string', enum: [...SEARCH_MODES] },
};
const INCLUDE_COMMON: Parameter = {
  name: 'include_common',
  description: 'Whether to add hits of the common collection, if the server has one.',
  schema: { type: 'boolean', default: false },
};

const REFINEMENTS = {
  SearchBody: exactlyOne('q', 'v', 'v_base64', 'like', 'queries', 'sort'),
  FusedQuery: exactlyOne('q', 'v', 'v_base64', 'like'),
  'FusedQuery.q': SEARCH_TEXT,
  'FusedQuery.v': VECTOR,
  'FusedQuery.v_base64': V_BASE64,
  'FusedQuery.mode': { enum: [...SEARCH_MODES, null] },
  'SearchBody.q': SEARCH_TEXT,
  'SearchBody.v': VECTOR,
  'SearchBody.v_base64': V_BASE64,
  'SearchBody.k': { default: K_DEFAULT, description: 'Maximum number of hits.' },
  'SearchBody.mode': {
    enum: [...SEARCH_MODES, null],
    description: "Default: the collection's mode. `boost` and `hybrid` require `q`.",
  },
  'Rerank.depth': {
    description: 'Number of candidates to rerank, at least `k`. Default: 50, or `k` if that is larger.',
  },
};

const BODY = typia.json.schema<SearchBody>();
const ANSWER = typia.json.schema<SearchAnswer>();

const BATCH_ANSWER: SearchBatchAnswer = {
  results: [
    { ok: true, ...SEARCH_ANSWER },
    {
      ok: false,
      code: 'dim_mismatch',
      error: 'The vector has 3 dimensions, the collection 384.',
      error_type: 'invalid',
      details: { expected: 384, got: 3 },
    },
  ],
};

const COLLECTIONS_REQUEST: CollectionsSearchBody = {
  collections: ['docs', 'notes'],
  q: 'submarine captain',
  k: 5,
  filters: { lang: 'en' },
};
const COLLECTIONS_REFINEMENTS = Object.fromEntries(
  Object.entries(REFINEMENTS).map(([name, refinement]) => [
    name.replace(/^SearchBody/, 'CollectionsSearchBody'),
    refinement,
  ]),
);
const COLLECTIONS_ANSWER: CollectionsSearchAnswer = {
  matches: SEARCH_ANSWER.matches,
  merge: 'score',
  searches: [
    {
      collection: 'docs',
      mode: 'vector',
      query_id: '0198c2f1-6a07-7b52-8c11-90d3f3f5a1b2',
      timing: { embed_ms: 0.31, filter_ms: 0, hydrate_ms: 0.42, search_ms: 0.87 },
    },
    {
      collection: 'notes',
      mode: 'vector',
      query_id: '0198c2f1-6a07-7b52-8c11-90d3f3f5a1b3',
      timing: { embed_ms: 0.3, filter_ms: 0, hydrate_ms: 0, search_ms: 0.42 },
    },
  ],
};

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
  description:
    'Any valid key may search the shared scope. It has no hits while it is switched off. Its searches are not logged.',
  answer: json(ANSWER, { answer: { ...SEARCH_ANSWER, query_id: undefined } }),
} as const;

export const SEARCH_ROUTES = routes({
  searchByQuery: ownRoute({
    ...ofCollection,
    method: 'GET',
    summary: 'Search a collection by query string',
    description: 'Has no filters; use POST for those. A collection that does not exist has no hits.',
    query: [Q, HOW_MANY, MODE, INCLUDE_COMMON],
    codes: CODES_OF_TEXT,
  }),
  search: ownRoute({
    ...ofCollection,
    method: 'POST',
    msgpack: true,
    summary: 'Search a collection by text or vector',
    description: RULES,
    body: 'search',
    request: {
      required: true,
      content: json(BODY, { ...REQUESTS, ...VECTOR_REQUESTS }, REFINEMENTS),
    },
    codes: [...CODES, ...RERANK_CODES],
  }),
  searchBatch: ownRoute({
    ...ofCollection,
    path: `${COLLECTION}/search:batch`,
    method: 'POST',
    msgpack: true,
    summary: 'Search a collection by many texts or vectors',
    description: `Up to ${SEARCHES_MAX} searches in one request. Answers 200 even if searches fail: each has its own result, in order, with \`code\` and \`error\` if it failed.
The result of a search is what it gives alone, without \`latency_ms\` and \`request_id\`. Each search is logged and counted, and each counts as a request for the tenant's rate limit:
a batch is admitted if one request is, and the requests behind it wait until all its searches are paid for.`,
    body: 'batch',
    request: {
      required: true,
      content: json(
        typia.json.schema<SearchBatchBody>(),
        { batch: BATCH_REQUEST },
        { ...REFINEMENTS, 'SearchBatchBody.searches': { minItems: 1, maxItems: SEARCHES_MAX } },
      ),
    },
    answer: json(typia.json.schema<SearchBatchAnswer>(), { answer: BATCH_ANSWER }),
    codes: [...CODES, ...RERANK_CODES],
  }),
  searchCollections: ownRoute({
    path: '/v1/search/{tenant}',
    access: 'tenant',
    scope: 'search',
    tag: 'Search',
    method: 'POST',
    msgpack: true,
    summary: 'Search several collections of a tenant',
    description: `Up to ${SEARCHED_COLLECTIONS_MAX} collections, each searched as by itself, and the hits merged by score or by rank. Each search is logged in its collection, and each counts as a request for the tenant's rate limit.
\`like\`, \`sort\`, \`cursor\`, \`group_by\`, \`diversity\` and \`include_common\` are for one collection.`,
    body: 'search',
    request: {
      required: true,
      content: json(
        typia.json.schema<CollectionsSearchBody>(),
        { collections: COLLECTIONS_REQUEST },
        COLLECTIONS_REFINEMENTS,
      ),
    },
    answer: json(typia.json.schema<CollectionsSearchAnswer>(), { answer: COLLECTIONS_ANSWER }),
    codes: [...CODES, ...RERANK_CODES, 'collection_not_found'],
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
    msgpack: true,
    keeps400: true,
    summary: 'Search the shared scope by text',
    description: `${shared.description} A search by vector fails with \`vector_query_not_allowed\`. ${FILTERS} ${RERANK} ${FUSION} ${EF} ${WORDS} ${TOLD}`,
    body: 'search',
    request: { required: true, content: json(BODY, REQUESTS, REFINEMENTS) },
    codes: [...CODES_OF_TEXT, ...RERANK_CODES, 'vector_query_not_allowed'],
  }),
});
