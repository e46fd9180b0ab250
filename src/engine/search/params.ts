// What the front thread and the search workers say to each other: one search of one collection as a whole, and what
// became of it. Plain data.
import type { CollectionRef } from '../../api/collections.js';
import type { ContentFilter, FusionSettings, Narrowed, SearchParams, SearchTiming } from '../../api/search.js';
import type { Filter } from '../../api/filter.js';
import type { Language } from '../../api/choices.js';
import type { QueryTerms } from '../../text/terms.js';
import type { SharedShards } from '../write/commands.js';
import type { HitParts } from './hit-json.js';

/** What a chunk must fit to be ranked at all: every filter, and the content filter on its text. */
export interface Narrowing {
  filters: Filter[];
  content?: ContentFilter;
}

/**
 * Words to rank by. Mode boost: distinct tokens, to be counted in the vector candidates; hybrid: distinct terms
 * (text/terms.ts).
 */
export type LexicalSearch = { mode: 'boost'; terms: string[] } | ({ mode: 'hybrid' } & QueryTerms);

/** What hits shall tell beside their score. */
export interface DetailsAsked {
  explain: boolean;
  relevance: boolean;
  /** Terms to be marked in the text. */
  highlight?: { terms: string[]; language: Language };
  /** The terms of the query where it ranks by them, or its relevance is estimated by them. */
  words?: QueryTerms;
}

/** A search of one collection, over all of its shards. */
export interface CollectionSearch {
  collection: CollectionRef;
  /** JSON of the fields that all hits of the collection begin with, without the brace at the end. */
  head: string;
  priorityKey: string;
  /** How many hits are wanted. */
  k: number;
  /** How deep each ranking is taken. */
  depth: number;
  params: SearchParams;
  /** Absent: ranked by words alone. */
  vector?: Float32Array;
  lexical?: LexicalSearch;
  narrowing?: Narrowing;
  narrowed: Narrowed;
  /** Of mode hybrid. */
  fusion: FusionSettings;
  /** Of mode boost. */
  boostWeight: number;
  /** The hits come with their parts, to be scored again. */
  withParts?: boolean;
  details?: DetailsAsked;
}

/** Whether a search says nothing of how the index is to be searched: then the index chooses. */
export function isDefault(params: SearchParams): boolean {
  for (const _ in params) return false;
  return true;
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

/** Cosines of a query with a sample of a collection's chunks, summed up. */
export interface CosineSample {
  count: number;
  sum: number;
}

/** The rankings of an arena of a shard. */
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

/** The k best, best first. */
export interface Found {
  /** Chunk ids. */
  ids: string[];
  scores: number[];
  /** Each hit as JSON text. */
  json: string[];
  /** Where they were asked for. */
  parts?: HitParts[];
  timing: SearchTiming;
}

/** Indexes that a shard has not made yet: its owner is asked to, and the search again. */
export interface Wanting {
  shard: number;
  words: boolean;
  fields: boolean;
}

/** The hits, or the indexes that have to be made before there are any. */
export type SearchResult = Found | Wanting[];

/** Given to each search worker when it starts. */
export interface SearchWorkerStart extends SharedShards {
  /** Of what hits have told of their chunks; 0 for none. */
  hitCacheBytes: number;
}
