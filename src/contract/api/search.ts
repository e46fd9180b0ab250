// Bodies of the search endpoints. Types only.
// Read by the handlers, the OpenAPI document and the client.
import type { tags } from 'typia';
import type { K_MAX } from '../limits.js';
import type { SearchMode, SearchTiming } from '../resources.js';

export type K = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof K_MAX>;

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

/** Exactly one of `q` and `v`. `null` counts as absent; there are no other fields. */
export interface SearchBody {
  q?: string | null;
  v?: number[] | null;
  k?: K | null;
  /** Metadata filters, ANDed: field to value, list of values (any of them), or operators `{"$gte": 5}`; `$and`, `$or`, `$not` at the top. */
  filters?: Record<string, unknown> | null;
  content_filter?: ContentFilter | null;
  /** `vector`, `boost` or `hybrid`; omitted: the collection's default. The latter two want `q`. */
  mode?: string | null;
  /** Adds what the common collection has, where the server has one. */
  include_common?: boolean | null;
  /** Wants `q`. */
  rerank?: Rerank | null;
}

/** The query-string form. */
export interface SearchQuery {
  q: string;
  k?: K;
  mode?: string;
  include_common?: boolean;
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
