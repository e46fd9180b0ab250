// How the server scales with the machine: every number that follows from the number of cores is chosen here. Pure.
import { SHARDS_MAX } from '../api/limits.js';

/** Readers of a shard's memory have places for these beside the search workers. */
export const FRONT_THREADS_MAX = 64;
/** Search workers beyond these find no more cores that nobody else wants. */
const SEARCH_THREADS_MAX = 48;
/** More log workers by default would wait for the same disk. */
const LOG_WRITERS_DEFAULT_MAX = 4;
/** Maximum number of threads for one query; a short text gains nothing from more. */
const QUERY_MODEL_THREADS_MAX = 4;

export interface Scale {
  /** Shards of a new data directory. */
  shards: number;
  /** Threads that serve HTTP. */
  frontThreads: number;
  /** Requests in progress. At most half of what may wait for a pool, which is what one tenant may take of it. */
  inFlight: number;
  searchThreads: number;
  /** Batch workers of each group. */
  batchThreads: number;
  /** Embed workers for documents, and for queries. Each loads every local model. */
  embedThreads: { documents: number; queries: number };
  /** Threads of one query in a local model. */
  queryModelThreads: number;
  /** Shards that a reindex copies at a time: one page is embedded while others are read and written. */
  shardsCopied: number;
  /** Batches of documents that a restore has under way. */
  batchesRestored: number;
  archiveProcesses: number;
  /** Log workers that take new entries of the query log, each of which stores some 100,000 a second with a core of its own: 7 to 13 µs an entry. */
  logWriters: number;
}

/** A share of the cores, within bounds. */
const share = (cores: number, of: number, min: number, max: number): number =>
  Math.min(max, Math.max(min, Math.floor(cores / of)));

export function scaleOf(cores: number, { hasModel }: { hasModel: boolean }): Scale {
  const quarter = share(cores, 4, 1, Infinity);
  return {
    shards: shardsFor(cores),
    // An eighth of a large machine is left to the owners of shards, to embedders and to the main thread.
    frontThreads: Math.min(FRONT_THREADS_MAX, cores - Math.floor(cores / 8)),
    inFlight: share(128 * cores, 1, 1024, 4096),
    searchThreads: Math.min(SEARCH_THREADS_MAX, cores),
    batchThreads: quarter,
    // A query may use four cores, so queries get a quarter of the cores of a large machine. More than eight cores to a
    // session of documents would idle.
    embedThreads: hasModel
      ? {
          documents: share(cores, 8, Math.min(4, cores), Infinity),
          queries: share(cores, 16, Math.min(2, cores), Infinity),
        }
      : { documents: quarter, queries: quarter },
    queryModelThreads: Math.min(cores, QUERY_MODEL_THREADS_MAX),
    shardsCopied: share(cores, 4, 2, SHARDS_MAX),
    batchesRestored: share(cores, 4, 4, SHARDS_MAX),
    archiveProcesses: share(cores, 8, 4, 8),
    logWriters: share(cores, 8, 1, LOG_WRITERS_DEFAULT_MAX),
  };
}

/**
 * A search traverses the graphs of all shards of its collection: with 1, 2, 4 and 8 of them the search throughput is 1, .59, .37 and
 * .24 (`load vectors partitions`). Two shards index in parallel, but if other threads need the cores too, that saves a
 * sixth of the time and costs two fifths of the search throughput.
 */
const shardsFor = (cores: number): number => (cores < 4 ? 1 : Math.min(Math.max(2, Math.round(cores / 4)), SHARDS_MAX));
