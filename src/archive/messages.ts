// The messages between the main thread and an archive process: the main thread sends a task, and the process reports
// its progress. Types of plain data only. The bytes of an archive being written go through the standard output of the
// process.
import type { AliasRecord } from '../api/aliases.js';
import type { ArchivedSettings, ArchiveCounts, LeftOut, LinesWish, CollectionPlace } from '../api/archives.js';
import type { WireError } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type { JudgementSet } from '../api/judgements.js';
import type { FoundQuery } from '../storage/query-log-commands.js';
import type { DocumentBatch } from '../text/prepared-document.js';
import type { Collection } from '../api/collections.js';
import type { StoredTenants } from '../api/tenants.js';

/** A collection that is to be written. */
export interface ArchivedSource {
  collection: Collection;
  /** The id under which the collection's query log is kept. */
  logId: CollectionId;
  judgementSets: JudgementSet[];
}

/**
 * Writes an archive of the stores. The process opens each store when it is ordered to, and takes its snapshots when it
 * is ordered to.
 */
export interface WriteTask {
  op: 'write';
  directory: string;
  shards: number;
  /** The number of stores of the query log. */
  logStores: number;
  /** Whether other nodes of a cluster have logged searches, for which the process asks the server. */
  hasOthersLogs: boolean;
}

/** What is to be written, as of the moment of the snapshots. */
export interface ArchivedMoment {
  createdAtMs: number;
  sources: ArchivedSource[];
  /**
   * For an archive of the whole dataset; null for one of a collection. `leftOut` lists the collections already known to
   * be damaged.
   */
  dataset: { tenants: StoredTenants; aliases: AliasRecord[]; leftOut: LeftOut[] } | null;
  /** In place of an archive, lines of the documents of the one source. */
  lines?: LinesWish;
  /** In place of a zip, its entries one by one, as `entriesIn` reads them. */
  asEntries?: boolean;
}

/**
 * Reads an archive from a file. The whole archive is verified before `verified` is reported; its collections are then
 * handed over one by one, when asked for.
 */
export interface ReadTask {
  op: 'read';
  path: string;
  /** A dataset, or a single collection: that of the archive, or the collection `from` in an archive of a dataset. */
  kind: 'dataset' | { from: CollectionPlace; isNamed: boolean };
  unpackedBytesMax: number;
  /** The same limit as for an ingest. */
  metadataBytesMax: number;
}

export type ArchiveTask = WriteTask | ReadTask;

export interface VerifiedCollection {
  settings: ArchivedSettings;
  counts: ArchiveCounts;
  judgementSets: JudgementSet[];
}

export interface VerifiedArchive {
  collections: VerifiedCollection[];
  /** For an archive of the whole dataset; null for one of a collection. */
  tenants: StoredTenants | null;
  /** Null for an archive without aliases, or of a collection. */
  aliases: AliasRecord[] | null;
  leftOut: LeftOut[];
}

/** Logged searches, packed one after the other. */
export interface QueryBatch {
  /** The query ids, 16 bytes each. */
  ids: Uint8Array;
  /** The length of each record in `records`, in bytes. */
  lengths: Uint32Array;
  records: Uint8Array;
}

/** What the process reports. The last message is `done`, `refused` or `failed`. */
export type ArchiveNote =
  /** The process waits to open the store at this place (base/meters.ts), and has opened it. */
  | { event: 'opens'; place: number }
  | { event: 'open' }
  | { event: 'ready' }
  /** The snapshots have been taken, so writes may continue. */
  | { event: 'opened' }
  /** All records have been read, and the bytes of the archive follow. */
  | { event: 'begun'; leftOut: LeftOut[] }
  /** The process waits for logged searches of other nodes: the oldest ones of this log, newer than `after` if given. */
  | { event: 'elsewhere'; logId: CollectionId; after?: string }
  | { event: 'verified'; archive: VerifiedArchive }
  | { event: 'documents'; batch: DocumentBatch }
  | { event: 'queries'; batch: QueryBatch }
  /** The requested data has been handed over. */
  | { event: 'handed' }
  /** `bytes` have gone to the standard output. */
  | { event: 'done'; bytes: number }
  | { event: 'refused'; error: WireError }
  | { event: 'failed'; problem: string };

/**
 * The orders to the process: to open the store that it waits for, to take its snapshots, to hand over data of the
 * collection at a place in the archive, its documents grouped for `spread` shards, to continue after a batch, and to
 * write logged searches of other nodes, of which there are no more where it gets none.
 */
export type ArchiveOrder =
  | { order: 'open' }
  | { order: 'snap'; moment: ArchivedMoment }
  | { order: 'hand'; place: number; what: 'documents'; spread: number }
  | { order: 'hand'; place: number; what: 'queries' }
  | { order: 'more' }
  | { order: 'queries'; queries: FoundQuery[] };
