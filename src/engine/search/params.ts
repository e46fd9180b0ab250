// What the front thread and the search workers say to each other: one search of one collection as a whole, and what
// became of it. Plain data. Types only; part of the messages (messages.ts).
import type { HighlightAsked, HitParts, Narrowing, ShardHits } from '../../ranking/hits.js';
import type { SharedShards } from '../write/commands.js';
import type { CollectionRef, SearchTiming } from '../../api/collections.js';
import type { QueryTerms } from '../../text/terms.js';
import type { FusionSettings, Narrowed } from '../../api/search.js';

/**
 * Words to rank by. Mode boost: distinct tokens, to be counted in the vector candidates; hybrid: distinct terms
 * (text/rank-terms).
 */
export type LexicalSearch = { mode: 'boost'; terms: string[] } | ({ mode: 'hybrid' } & QueryTerms);

/** What hits shall tell beside their score. */
export interface DetailsAsked {
  explain: boolean;
  relevance: boolean;
  highlight?: HighlightAsked;
  /** The terms of the query where it ranks by them, or its relevance is estimated by them. */
  words?: QueryTerms;
}

/** A search of one collection, over all of its shards. */
export interface CollectionSearch {
  collection: CollectionRef;
  /** JSON of the fields that all hits of the collection begin with, without the brace at the end. */
  head: string;
  priorityKey: string;
  k: number;
  /** Absent: ranked by words alone. */
  vector?: Float32Array;
  lexical?: LexicalSearch;
  /** As of ShardSearch. */
  ef?: number;
  exact?: boolean;
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
  /** Live chunks of the collection: what a search of it costs. */
  chunks: number;
}

/** Indexes that a shard has not made yet: its owner is asked to, and the search again. */
export interface Wanting {
  shard: number;
  words: boolean;
  fields: boolean;
}

/** The rankings of an arena of some shards, for another worker to merge. */
export interface RankedShard {
  shard: number;
  arena: number;
  /** Of the shard's memory when it was ranked. */
  incarnation: number;
  hits: ShardHits;
}

/** The whole search; or the rankings of some shards alone; or what is left to do once they all have been ranked. */
export type SearchTask = { search: CollectionSearch } & (
  | { part: 'whole' }
  | { part: 'rank'; shards: number[] }
  | { part: 'finish'; ranked: RankedShard[] }
);

export type SearchAnswer = { found: Found } | { wanting: Wanting[] } | { ranked: RankedShard[] };

/** Given to each search worker when it starts. */
export interface SearchWorkerStart extends SharedShards {
  /** Of what hits have told of their chunks; 0 for none. */
  hitCacheBytes: number;
}
