// What a search ranks by, and what comes of it in each shard: plain data. Types only.
// Part of the messages (messages.ts); also read by the pure files of rank/.
import type { Filter } from '../api/filter.js';
import type { Ordinal } from '../api/ids.js';
import type { Language } from '../api/choices.js';
import type { ContentFilter, Explanation, FusionSettings, Highlight } from '../api/search.js';

/** What a chunk must fit to be ranked at all: every filter, and the content filter on its text. */
export interface Narrowing {
  filters: Filter[];
  content?: ContentFilter;
}

/**
 * Of a collection, or of a part of one: chunks with text, their terms, and for each term of a query the chunks that
 * have it.
 */
export interface LexicalStatistics {
  chunks: number;
  tokens: number;
  frequencies: number[];
  /** How often each term stands in the query; once where absent. */
  counts?: number[];
}

/** The words of a query in mode boost: its distinct tokens, to be counted in the vector candidates. */
interface BoostQuery {
  mode: 'boost';
  terms: string[];
}

/** The words of a query in mode hybrid: its distinct terms (text/rank-terms), to rank by, counted in `statistics`. */
export interface HybridQuery {
  mode: 'hybrid';
  terms: string[];
  statistics: LexicalStatistics;
}

export interface ShardSearch {
  /** Absent: ranked by words alone. */
  vector?: Float32Array;
  /** Depth of each ranking. */
  k: number;
  narrowing?: Narrowing;
  lexical?: BoostQuery | HybridQuery;
  /** Breadth of the walk through each shard's graph. Absent: the index chooses. */
  ef?: number;
  /** Every vector that may be ranked is scored. */
  exact?: boolean;
  /** A sample of cosines is wanted. */
  sample?: boolean;
  /** In mode hybrid: the chunks of each ranking come with their scores of the other one. */
  bothScores?: boolean;
}

/** Best first; equal scores in document and chunk order. The arrays are of one length. */
export interface RankedList {
  ordinals: Uint32Array;
  /** What a hydrate must still find: a changed stamp says that the chunk is gone or replaced. */
  stamps: Uint32Array;
  /** Of the vector ranking: cosines, with the priority applied unless the mode is hybrid. Of the lexical one: BM25. */
  scores: Float64Array;
  /** NaN in the lexical ranking, unless both scores were asked for. */
  cosines: Float32Array;
  /** BM25, where both scores were asked for. */
  words?: Float64Array;
  /** Of modes boost and hybrid, where any is not 0. */
  priorities?: Float64Array;
  /** Of mode boost: how many terms of the query each chunk has. */
  matched?: Uint32Array | undefined;
}

export interface ShardHits {
  /** The stamp that was given out last before the search: what was published later may be a part of a document only. */
  before: number;
  /** How often rows had gone before the search, and whether some were going: odd. */
  removals: number;
  /** Live chunks. */
  chunks: number;
  vector: RankedList;
  /** Of mode hybrid. */
  lexical?: RankedList;
  sample?: CosineSample;
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
  | { readonly mode: 'vector'; readonly cosine: number; readonly vectorRank?: number }
  | {
      readonly mode: 'boost';
      readonly cosine: number;
      readonly vectorRank?: number;
      readonly boost: number;
      readonly matched: number;
      readonly wanted: number;
    }
  | ({ readonly mode: 'hybrid'; readonly fusion: FusionSettings } & Halves);

/**
 * What the halves of mode hybrid say of a chunk: of a half that does not have it, nothing; in score fusion both know
 * their scores.
 */
export interface Halves extends Readonly<Ranks> {
  readonly cosine?: number;
  readonly bm25?: number;
  /** BM25 over the best of the ranking. */
  readonly share?: number;
}

/** One hit to turn into JSON, as it stands in the answer. */
export interface RankedHit {
  ordinal: Ordinal;
  stamp: number;
  score: number;
  basis: Basis;
}

/** Cosines of a query with a sample of a collection's chunks, summed up. */
export interface CosineSample {
  count: number;
  sum: number;
}

/** Where a chunk stands. */
export interface ChunkPosition {
  docid: string;
  /** In its document. */
  index: number;
  path: string;
}

// What the search workers make of the hits of a search, and what they tell of them: plain data. Types only.
// Part of the messages (messages.ts); also read by the pure files of rank/.

/** What a query's scores are measured by to tell how relevant a hit is. */
interface RelevanceQuestion {
  /** `mean`: of its cosines with any chunks. */
  vector?: { query: Float32Array; mean: number };
}

/** Terms to be marked in the text. */
export interface HighlightAsked {
  terms: string[];
  language: Language;
}

/** What hits shall tell beside their score. */
export interface DetailsWanted {
  explain: boolean;
  /** With the idf of each term where it is known. */
  highlight?: HighlightAsked & { weights?: number[] };
  /** The terms of the query where it ranks by them, or its relevance is estimated by them. */
  words?: Omit<HybridQuery, 'mode'>;
  relevance?: RelevanceQuestion;
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
  /** Where they were asked for. */
  explain?: Omit<Explanation, 'score'>;
  relevance?: number;
  highlight?: Highlight;
}

/** What a hit tells of its chunk whatever the query, as JSON text. */
export interface ToldChunk {
  readonly id: string;
  readonly idJson: string;
  /** Absent where the chunk was ingested as a vector. */
  readonly textJson?: string;
  /** The document's metadata overlaid by the chunk's own. */
  readonly metaJson: string;
  /** The chunk's own metadata and the document's. */
  readonly layers: readonly [string, string];
}
