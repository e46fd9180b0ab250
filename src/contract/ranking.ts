// What the front thread and the shard workers say to each other about one search: plain data. Types only.
// Part of the messages (messages.ts); also read by the pure files of rank/.
import type { ContentFilter, ContentOp } from './api/search.js';
import type { Filter } from './filter.js';
import type { Ordinal } from './ids.js';

/** What a chunk must fit to be ranked at all: every filter, and the content filter on its text. */
export interface Narrowing {
  filters: Filter[];
  content?: ContentFilter;
}

/** Of a collection, or of a part of one: chunks with text, their terms, and for each term of a query the chunks that have it. */
export interface LexicalStatistics {
  chunks: number;
  tokens: number;
  frequencies: number[];
}

/** The words of a query in mode boost: its distinct tokens, to be counted in the vector candidates. */
export interface BoostQuery {
  mode: 'boost';
  terms: string[];
}

/** The words of a query in mode hybrid: its distinct terms (text/rank-terms), to rank by. */
export interface HybridQuery {
  mode: 'hybrid';
  terms: string[];
  statistics: LexicalStatistics;
}

export type LexicalQuery = BoostQuery | HybridQuery;

export interface ShardSearch {
  /** Absent: ranked by words alone. */
  vector?: Float32Array;
  /** Depth of each ranking. */
  k: number;
  narrowing?: Narrowing;
  lexical?: LexicalQuery;
}

/** Best first; equal scores in document and chunk order. The arrays are of one length. */
export interface RankedList {
  ordinals: Uint32Array;
  /** What a hydrate must still find: a changed stamp says that the chunk is gone or replaced. */
  stamps: Uint32Array;
  /** Of the vector ranking: cosines, with the priority applied unless the mode is hybrid. Of the lexical one: BM25. */
  scores: Float64Array;
  /** NaN in the lexical ranking. */
  cosines: Float32Array;
  /** Of modes boost and hybrid, where any is not 0. */
  priorities?: Float64Array;
  /** Of mode boost: how many terms of the query each chunk has. */
  matched?: Uint32Array | undefined;
}

export interface ShardHits {
  vector: RankedList;
  /** Of mode hybrid. */
  lexical?: RankedList;
  /** Time spent on finding what may be ranked. */
  filterMs: number;
  vectorMs: number;
  lexicalMs: number;
}

/** Ranks from 1; undefined where the ranking does not have the chunk. */
export interface Ranks {
  vectorRank?: number;
  lexicalRank?: number;
}

/** How a hit got its score before the priority. */
export type Basis =
  | { readonly mode: 'vector'; readonly cosine: number }
  | { readonly mode: 'boost'; readonly cosine: number; readonly boost: number; readonly matched: number; readonly wanted: number }
  | ({ readonly mode: 'hybrid'; readonly cosine?: number } & Readonly<Ranks>);

/** One hit to turn into JSON, as the front thread has ranked it. */
export interface RankedHit {
  ordinal: Ordinal;
  stamp: number;
  score: number;
  basis: Basis;
}

/** What a search was narrowed by, as its hits tell it. */
export interface Narrowed {
  readonly fields: readonly string[];
  readonly contentOp?: ContentOp;
}

/** How a search is reranked. */
export interface RerankSettings {
  /** Key of the reranker. */
  instance: string;
  /** How many candidates it reads. */
  depth: number;
}

/** A hit as a client gets it. */
export interface HydratedHit {
  /** Chunk id. */
  id: string;
  /** The whole hit, as JSON text. */
  json: string;
  /** Where they were asked for. */
  parts?: HitParts;
}

/** What a hit is made of, its score aside. */
export interface HitParts {
  /** JSON of the fields that all hits of a collection begin with, without the brace at the end. */
  head: string;
  id: string;
  /** Absent where the chunk was ingested as a vector. */
  text?: string;
  metaJson: string;
  reason: string;
  /** Of the chunk's document; 0 for none. */
  priority: { key: string; value: number };
}

/** Where a chunk stands. */
export interface ChunkPosition {
  docid: string;
  /** In its document. */
  index: number;
  path: string;
}
