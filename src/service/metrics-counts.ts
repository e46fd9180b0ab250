// What is counted of requests and searches: the counters by name, and what they are told of each that is over.
// Used by metrics.ts; front thread.
import type { SearchTiming } from '../contract/resources.js';

export const COUNTERS = {
  requests: ['sheaf_requests_total', 'Requests that are over.'],
  errors: ['sheaf_errors_total', 'Requests that were answered with an error, of the client or of the server.'],
  searches: ['sheaf_searches_total', 'Searches of a collection that succeeded.'],
  searchesDegraded: [
    'sheaf_searches_degraded_total',
    'Searches that were answered by words alone, because the embedder did not answer.',
  ],
  matches: ['sheaf_search_matches_total', 'Hits in the answers of searches.'],
  documentsIndexed: ['sheaf_documents_indexed_total', 'Documents stored, new and replaced.'],
  chunksIndexed: ['sheaf_chunks_indexed_total', 'Chunks of the documents stored.'],
  chunksReused: [
    'sheaf_chunks_reused_total',
    'Chunks that were not embedded, since the stored document of the same id had their text.',
  ],
  documentsDeleted: ['sheaf_documents_deleted_total', 'Documents deleted, without those of deleted collections.'],
  collectionsCreated: ['sheaf_collections_created_total', 'Collections made, by ingest too.'],
  collectionsDeleted: ['sheaf_collections_deleted_total', 'Collections deleted.'],
} as const;

export type Counts = Record<keyof typeof COUNTERS, number>;

/** A request that is over, as the HTTP server tells of it. */
export interface FinishedRequest {
  readonly method: string;
  /** Path template; '' where no route was found. */
  readonly route: string;
  /** 0 when the client was gone before a reply was made. */
  readonly status: number;
  readonly latencyMs: number;
  /** Of an error. */
  readonly code?: string | undefined;
  /** Of the path; '' where it has none, or who called is not known. */
  readonly tenant: string;
}

/** A search that has its hits. */
export interface FinishedSearch {
  readonly timing: SearchTiming;
  readonly hits: readonly unknown[];
  readonly degraded?: true;
}
