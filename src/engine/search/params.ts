// Messages between front threads, the main thread and search workers: one search of one collection, and its result.
// Plain data that survives structured cloning.
import type { CollectionRef } from '../../api/collections.js';
import type {
  ContentFilter,
  FilteredBy,
  FusionSettings,
  QueriesFusion,
  SearchParams,
  SearchTiming,
} from '../../api/search.js';
import type { Filter } from '../../api/filter.js';
import { REACH_MAX } from '../../api/limits.js';
import type { Language } from '../../api/choices.js';
import type { TextClauses } from '../../text/query-syntax.js';
import type { QueryTerms } from '../../text/terms.js';
import type { SharedShards } from '../write/commands.js';
import type { Bitmap } from '../filter/bitmap.js';
import type { HitFields, HitPieces } from './hit-json.js';

/**
 * The filter of a search: a chunk is ranked only if it matches every metadata filter and the content filter on its
 * text.
 */
export interface SearchFilter {
  filters: Filter[];
  content?: ContentFilter;
  /** What the syntax of the query demands of texts. */
  clauses?: TextClauses & { language: Language };
}

/** Whether a filter needs the text index. */
export const filtersTexts = (filter: SearchFilter | undefined): boolean =>
  filter !== undefined && (filter.content !== undefined || filter.clauses !== undefined);

/**
 * Lexical part of a search. Mode `boost` has distinct tokens, which are counted in the vector candidates; mode `hybrid`
 * has distinct index terms (text/terms.ts), which are ranked by BM25.
 */
export type LexicalSearch =
  | { mode: 'boost'; terms: string[]; alternatives?: Alternatives }
  | ({ mode: 'hybrid' } & SearchedTerms);

/** The terms that a search ranks by or estimates relevance from. */
export interface SearchedTerms extends QueryTerms {
  alternatives?: Alternatives;
}

/**
 * Which terms stand for words of the query that they are not equal to (words.ts). Arrays are by the index of the term;
 * the terms of a group follow each other, the best first.
 */
export interface Alternatives {
  /** The number of the group. The terms of a group match the same word of the query. */
  groups: number[];
  /** From 0 to 1; 1 for the terms of the query itself. */
  weights: number[];
  /** The word that an alternative stands for; undefined for the terms of the query itself. */
  words: (string | undefined)[];
  /** The number of terms of the query itself. */
  wanted: number;
}

/** Which other words the words of a query match. */
export interface WordMatching {
  /** The distinct tokens of the query, in order. */
  words: string[];
  /** The most edits from a word that no chunk has to those that stand for it. */
  edits: number;
  /** The index of the word that may be the beginning of one. */
  open?: number;
  /** Tokens that stand for a word, by the index of the word, with their weights. */
  synonyms: { word: number; token: string; weight: number }[];
  language: Language;
}

/** Hit options: what each hit contains besides its score and chunk payload. */
export interface ResolvedHitOptions {
  explain: boolean;
  relevance: boolean;
  /** Hits whose relevance is lower are left out. */
  minRelevance?: number;
  /** Which fields hits have; all if absent. */
  fields?: HitFields;
  /** Number of chunks on each side that the context of a hit has. */
  context?: number;
  /** Whether hits have the stored vector of their chunk. */
  vector?: true;
  /** Terms to mark in the text. */
  highlight?: { terms: string[]; language: Language };
  /** Terms of the query, if it ranks by them or estimates relevance from them. */
  terms?: SearchedTerms;
}

/** Whether the relevance of hits has to be estimated. */
export const estimatesRelevance = (details: ResolvedHitOptions | undefined): boolean =>
  details !== undefined && (details.relevance || details.minRelevance !== undefined);

/** Which of the ranked chunks an answer has, if not simply the k best. */
export interface ResultSettings {
  /** Number of hits to leave out at the beginning. */
  offset: number;
  /** The k of one page, by which deeper pages are ranked (pages.ts). */
  page: number;
  /** Hits with a lower score are left out. */
  minScore?: number;
  /** Whether it matters if more hits follow. */
  wantsMore?: boolean;
  /** Picks hits that are unlike each other. */
  diversity?: Diversity;
  /** Groups the hits; `offset`, `page` and k then count groups. */
  group?: Grouping;
}

/** Several queries, whose best hits are fused (queries.ts). */
export interface FusedQueries {
  queries: FusedQuery[];
  fusion: QueriesFusion;
  /** Number of hits of each query. */
  depth: number;
}

/** One of several queries: its rankings, as in a search of its own. */
export interface FusedQuery extends Pick<CollectionSearch, 'vector' | 'lexical' | 'matching' | 'like' | 'fusion'> {
  weight: number;
}

/** How the best hits are boosted by their metadata (boost.ts). */
export interface BoostSettings {
  combine: 'multiply' | 'sum';
  depth: number;
  fields: BoostedField[];
}

export interface BoostedField {
  field: string;
  weight: number;
  /** What it gives for a chunk without a value. */
  missing: number;
  curve: BoostCurve;
}

/** What is made of a value. Times are in milliseconds since 1970, as are the distances of times. */
export type BoostCurve =
  | { form: 'none' | 'log1p' | 'sqrt' | 'saturation'; factor: number }
  | {
      form: 'linear' | 'exponential' | 'gaussian';
      isTime: boolean;
      origin: number;
      scale: number;
      offset: number;
      atScale: number;
    };

/** The order of a search by filters alone. */
export interface SortSettings {
  field: string;
  descending: boolean;
  /** The last hit of the page before. */
  after?: SortPosition;
}

/** Numbers, times, other texts, booleans, no value. */
export type SortKind = 0 | 1 | 2 | 3 | 4;

/** The place of a chunk in a sorted search. */
export interface SortPosition {
  /** The kind of its value (sort-key.ts). */
  kind: SortKind;
  /** A number, milliseconds of a time, a text or its beginning. */
  value: number | string;
  docid: string;
  /** Index of the chunk in its document. */
  index: number;
}

/** How hits are picked from the best (diversity.ts). */
export interface Diversity {
  /** 1 ranks by relevance only, 0 by dissimilarity only. */
  lambda: number;
  candidates: number;
}

/** The examples of a search by stored chunks (like.ts). */
export interface LikeSettings {
  docids: string[];
  chunks: string[];
  not: { docids: string[]; chunks: string[] };
  /** Filters that examples must match: those of the caller's key. */
  within?: Filter[];
}

/** How hits are grouped. */
export interface Grouping {
  /** A metadata field, or `docid`. */
  by: string;
  /** Number of hits in a group. */
  size: number;
}

/**
 * Depth of each ranking for the `k` best hits: k in mode vector; the modes boost and hybrid reorder candidates, and take
 * five times as many, at least 50. No ranking of a page is deeper than `REACH_MAX`.
 */
export const depthOf = (k: number, isReordered: boolean): number =>
  isReordered ? Math.max(k, Math.min(REACH_MAX, Math.max(CANDIDATES_MIN, CANDIDATES_PER_K * k))) : k;

const CANDIDATES_PER_K = 5;
const CANDIDATES_MIN = 50;

/** A search of one collection over all of its shards. */
export interface CollectionSearch {
  collection: CollectionRef;
  /** The shards of the collection; absent: all. */
  shards?: readonly number[];
  /** JSON prefix: the opening brace and the fields that all hits of the collection share. */
  jsonPrefix: string;
  priorityKey: string;
  /** Number of hits to return. */
  k: number;
  /** Number of candidates taken from each ranking. */
  depth: number;
  params: SearchParams;
  /** Absent if the search ranks by terms alone. */
  vector?: Float32Array;
  lexical?: LexicalSearch;
  /** Absent if words match as they are. */
  matching?: WordMatching;
  filter?: SearchFilter;
  filteredBy: FilteredBy;
  /** Used by mode `hybrid` only. */
  fusion: FusionSettings;
  /** Used by mode `boost` only. */
  boostWeight: number;
  /** Return `HitPieces` with the hits, so that a reranker can score them again. */
  withPieces?: boolean;
  details?: ResolvedHitOptions;
  /** Absent if the k best hits are wanted. */
  results?: ResultSettings;
  /** Several queries, in place of a vector and terms. */
  fused?: FusedQueries;
  /** Boosts the best hits by their metadata. */
  boostBy?: BoostSettings;
  /** Examples, in place of a vector. */
  like?: LikeSettings;
  /** The rows of each view that may be ranked, in place of those that the filter admits. Set by the searching thread. */
  among?: readonly Bitmap[];
  /** Set for a search by filters alone; it then has neither a vector nor terms. */
  sort?: SortSettings;
}

/** Whether a search leaves all index parameters to the index. */
export function isDefault(params: SearchParams): boolean {
  for (const _ in params) return false;
  return true;
}

/** One ranking, best first; ties are in document and chunk order. All arrays have the same length. */
export interface RankedList {
  ordinals: Uint32Array;
  /**
   * Row versions at the time of ranking. Hydration drops a hit whose row version has changed, since its chunk was
   * deleted or replaced.
   */
  rowVersions: Uint32Array;
  /**
   * In the vector ranking: cosines, with the priority added unless the mode is `hybrid`. In the lexical ranking: BM25.
   */
  scores: Float64Array;
  /** Cosine of each chunk. In the lexical ranking NaN, unless score fusion needs both scores. */
  cosines: Float32Array;
  /** BM25 of each chunk of the vector ranking, if score fusion needs both scores. */
  bm25?: Float64Array;
  /** Present in modes `boost` and `hybrid` if the segment has any priority. */
  priorities?: Float64Array;
  /** Mode `boost`: the number of query tokens each chunk has, or the sum of the weights of those it has. */
  matched?: Float64Array | undefined;
}

/** Sum and count of the query's cosines with a sample of a collection's chunks. */
export interface CosineSample {
  count: number;
  sum: number;
}

/** The rankings of one segment: one collection in one arena of one shard. */
export interface ShardHits {
  /** The last row version published before the search. A document published later may be visible only in part. */
  before: number;
  /** The segment's removal counter at the start of the search. An odd value means that a removal was under way. */
  removals: number;
  /** Number of live chunks. */
  chunks: number;
  vector: RankedList;
  /** Mode `hybrid` only. */
  lexical?: RankedList;
  sample?: CosineSample;
  /** Time spent on evaluating the filter. */
  filterMs: number;
  vectorMs: number;
  lexicalMs: number;
}

/** The k best hits, best first. */
export interface Found {
  /** Chunk ids. */
  ids: string[];
  scores: number[];
  /** Each hit as JSON text. */
  json: string[];
  /** Present if `withPieces` was set. */
  pieces?: HitPieces[];
  /** Whether more hits follow; absent without result settings. */
  hasMore?: boolean;
  /** The place of the last hit of a sorted search. */
  last?: SortPosition;
  timing: SearchTiming;
  /** The CPU time of the search worker for this search, in milliseconds. */
  cpuMs?: number;
}

/**
 * Indexes that a shard has not loaded or built yet. The thread that plans the search has the shard's owner prepare them
 * and repeats the search.
 */
export interface MissingIndexes {
  shard: number;
  textIndex: boolean;
  fields: boolean;
}

/** The hits, or the missing indexes that must be loaded or built first. */
export type SearchResult = Found | MissingIndexes[];

/** Start message of each search worker. */
export interface SearchWorkerStart extends SharedShards {
  /** Size limit of the worker's chunk payload cache; 0 disables it. */
  hitCacheBytes: number;
}
