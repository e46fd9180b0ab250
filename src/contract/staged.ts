// A staged collection: a space of its own beside a collection that has the name, filled unseen and given the name in
// one transaction. It carries reindex, restore, compaction and the way back. Types only; shared by the front thread,
// the stores and the workers.
import type { CollectionId } from './ids.js';
import type { StoredJob } from './reindex.js';
import type { StoredCollection } from './resources.js';

/** `previous`: what had the name before a switch, kept for a while. */
export type StagedPurpose = 'reindex' | 'restore' | 'previous';

export interface StagedRecord {
  id: CollectionId;
  purpose: StagedPurpose;
  /** Its settings, with its own id; tenant and name are those that it will get. */
  collection: StoredCollection;
  /**
   * The collection that it is to replace; null for one that will be new. Of a previous one: the collection that
   * replaced it.
   */
  replaces: CollectionId | null;
  created_at: string;
  /** Of a previous one: until when its writes are kept up, in ms since 1970. */
  kept_until_ms?: number;
}

/** As it is staged: the store gives it its id. */
export interface NewStaged extends Pick<StagedRecord, 'purpose' | 'replaces' | 'created_at'> {
  collection: Omit<StoredCollection, 'id'>;
}

export interface SwitchRequest {
  id: CollectionId;
  /** What the name has to stand for now; null where there must be no such name. */
  expect: CollectionId | null;
  /** When it happens, and until when the previous collection keeps up with what is written. */
  nowIso: string;
  keptUntilMs: number;
  /** The job that ends with it. */
  job?: StoredJob;
}

/** What became of the whole catalog. */
export interface ReplacedDataset {
  collections: StoredCollection[];
  /** Those that had names before. */
  gone: StoredCollection[];
  /** Staged for something else, and of no use any more. */
  dropped: StagedRecord[];
}

export interface Switched {
  collection: StoredCollection;
  /** What had the name before; null where nothing had. */
  previous: StagedRecord | null;
  /** Staged beside what had the name before, and of no use any more. */
  dropped: StagedRecord[];
}
