// What goes over the wire of searches, of measurements of their recall, and of samples of stored vectors.
import type { tags } from 'typia';
import type { SearchTiming } from './collections.js';
import type { SearchMode } from './choices.js';
import type {
  EF_MAX,
  FUSION_K_MAX,
  FUSION_WEIGHT_MAX,
  K_MAX,
  RECALL_K_MAX,
  RECALL_SAMPLE_MAX,
  VECTOR_SAMPLE_MAX,
} from './limits.js';

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

/** All optional; the body itself may be absent. */
export interface RecallBody {
  /** How many queries are compared at most; 100 where it is left out. */
  sample?: (number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof RECALL_SAMPLE_MAX>) | null;
  /** How many of the nearest; 10 where it is left out. */
  k?: (number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof RECALL_K_MAX>) | null;
  /** Breadth of the walk through the graph; omitted: as the index chooses for a search that names none. */
  ef?: Ef | null;
  /**
   * `log`: searches that the query log has. `stored`: vectors of the collection. Omitted: the log, or stored vectors
   * where it has too few.
   */
  source?: 'log' | 'stored' | null;
}

export interface RecallAnswer {
  tenant: string;
  collection: string;
  /** Share of the true k nearest that searches find, from 0 to 1; null where nothing could be compared. */
  recall: number | null;
  /** That of the worst query. */
  lowest: number | null;
  k: number;
  /** How many queries were compared. */
  queries: number;
  source: 'log' | 'stored';
  /** As asked for, or as the index chooses, the largest of the shards'; 0: everything is scanned. */
  ef: number;
  /**
   * False while vectors wait for their place in the graph, or it is being checked: searches find as much, but take
   * longer, and `ef` may change.
   */
  settled: boolean;
  /** Searches a second, one after the other, in the time that ranking takes; null where nothing could be compared. */
  qps: number | null;
  /** The same of exact ones. */
  exact_qps: number | null;
  /** There was no time for the whole sample. Absent otherwise. */
  cut?: true;
}

/** The query string of a sample of stored vectors. */
export interface VectorSampleParameters {
  sample?: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof VECTOR_SAMPLE_MAX>;
}

export interface SampledVector {
  /** Chunk id. */
  rid: string;
  /** What one step of a byte is worth. */
  scale: number;
  /** Base64 of `dim` signed bytes. */
  components: string;
}

export interface VectorSample {
  tenant: string;
  collection: string;
  dim: number;
  vectors: SampledVector[];
  count: number;
}
