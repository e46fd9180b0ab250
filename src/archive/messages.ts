// The messages between the front thread and an archive process: a task, then what the process has to tell, step by
// step. Types only; plain data. The bytes of an archive that is written come by the process's standard output.
import type { ArchivedSettings, ArchiveCounts, LeftOut, CollectionPlace } from '../api/archives.js';
import type { WireError } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type { PackedDocuments } from '../text/prepared-document.js';
import type { Collection } from '../api/collections.js';
import type { StoredTenants } from '../api/tenants.js';

export interface ArchivedSource {
  collection: Collection;
  /** The id that its query log is kept under. */
  logId: CollectionId;
}

/** Opens the stores, each when the process is told so, to write an archive of what they hold when it is told that. */
export interface WriteTask {
  op: 'write';
  directory: string;
  shards: number;
}

/** What is written, as it is now. */
export interface ArchivedMoment {
  createdAtMs: number;
  sources: ArchivedSource[];
  /**
   * Of an archive of the whole dataset; null for one of a collection. `leftOut`: what is known to be damaged already.
   */
  dataset: { tenants: StoredTenants; leftOut: LeftOut[] } | null;
}

/**
 * Reads an archive from a file: all of it is verified before `verified` is told, then its collections are handed over,
 * one when asked.
 */
export interface ReadTask {
  op: 'read';
  path: string;
  /** A dataset, or one collection: the one of the archive, or `from` out of an archive of everything. */
  kind: 'dataset' | { from: CollectionPlace; isNamed: boolean };
  shards: number;
  unpackedBytesMax: number;
  /** What an ingest allows. */
  metadataBytesMax: number;
}

export type ArchiveTask = WriteTask | ReadTask;

export interface VerifiedCollection {
  settings: ArchivedSettings;
  counts: ArchiveCounts;
}

export interface VerifiedArchive {
  collections: VerifiedCollection[];
  /** Of an archive of the whole dataset. */
  tenants: StoredTenants | null;
  leftOut: LeftOut[];
}

/** Documents for one shard, as `putStaged` takes them. */
export interface DocumentBatch extends PackedDocuments {
  shard: number;
  versions: number[];
}

export interface QueryBatch {
  /** 16 bytes each. */
  ids: Uint8Array;
  /** Of each record in `records`. */
  lengths: Uint32Array;
  records: Uint8Array;
}

/** What the process tells. The last of it is `done`, or why there is no more. */
export type ArchiveNote =
  /** It waits to open the store at this place (base/meters.ts); and has opened it. */
  | { told: 'opens'; place: number }
  | { told: 'open' }
  | { told: 'ready' }
  /** The snapshots are there: writes may go on. */
  | { told: 'opened' }
  /** Every record that will be written has been read; the bytes follow. */
  | { told: 'begun'; leftOut: LeftOut[] }
  | { told: 'verified'; archive: VerifiedArchive }
  | { told: 'documents'; batch: DocumentBatch }
  | { told: 'queries'; batch: QueryBatch }
  /** What was asked for has been handed over. */
  | { told: 'handed' }
  | { told: 'done' }
  | { told: 'refused'; error: WireError }
  | { told: 'failed'; fault: string };

/**
 * What it is told: to open the store that it waits for, to take its snapshots, to hand over what a collection has by
 * its place, to go on after a batch.
 */
export type ArchiveOrder =
  | { order: 'open' }
  | { order: 'snap'; moment: ArchivedMoment }
  | { order: 'hand'; place: number; what: 'documents' | 'queries' }
  | { order: 'more' };
