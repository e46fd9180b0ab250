// What the search workers make of the hits of a search, and what they tell of them: plain data. Types only.
// Part of the messages (messages.ts); also read by the pure files of rank/.
import type { Explanation, Highlight } from './api/search.js';
import type { Language } from './language.js';
import type { HybridQuery } from './ranking.js';

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
