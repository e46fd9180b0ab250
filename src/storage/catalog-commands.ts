// The commands of the catalog, which the owner of shard 0 takes beside those of its shard: collections, what is staged
// beside them, reindex jobs, tenants and keys; and the records that they carry. Types, but for small functions of a collection. Any
// thread.
import type { Collection, CollectionRef, Space } from '../api/collections.js';
import type { CollectionId, Tenant } from '../api/ids.js';
import type { ReindexJob } from '../api/reindex.js';
import type { KeyRecord, StoredTenants, TenantChange, TenantRecord } from '../api/tenants.js';

/**
 * A collection as the store has it: one from the time before languages names none, and has the instance's; one from
 * before precisions has the default.
 */
export type StoredCollection = Omit<Collection, 'language' | 'precision'> &
  Partial<Pick<Collection, 'language' | 'precision'>>;

/** The id that its query log is kept under. */
export const logIdOf = ({ id, log_id: logId }: Pick<Collection, 'id' | 'log_id'>): CollectionId => logId ?? id;

export const refOf = ({ id, generation, dim, language, precision }: Collection): CollectionRef => ({
  id,
  generation,
  dim,
  language,
  precision,
});

/** The vector space of a collection. */
export const spaceIn = ({ embedder_type, embed_model, embedder_config, vector_space_key, dim }: Space): Space => ({
  embedder_type,
  embed_model,
  embedder_config,
  vector_space_key,
  dim,
});

/** A collection as a caller found it: by its name, and the id that the name stood for. */
export type CollectionKey = Pick<Collection, 'tenant' | 'name' | 'id'>;

/** What can be changed of a collection. */
export type CollectionChange = Partial<Pick<Collection, 'name' | 'display_name'>>;

/** A reindex job as the catalog has it: what clients see of it, and how far it has come. */
export interface StoredJob extends ReindexJob {
  /** The id that the query log of the collection is kept under: it stays when another space takes over. */
  log_id: CollectionId;
  /** The space that it fills; null once that is given up. */
  staged_id: CollectionId | null;
  /** Of each shard the document that the copy has come to: '' before the first, null behind the last. */
  cursors: (string | null)[];
}

/** `previous`: what had the name before a switch, kept for a while. */
export type StagedPurpose = 'reindex' | 'restore' | 'previous';

/**
 * A staged collection: a space of its own beside a collection that has the name, filled unseen and given the name in
 * one transaction. It carries reindex, restore, compaction and the way back.
 */
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

/** Records as the store has them, one after the other. */
export interface PackedRecords {
  bytes: Uint8Array;
  /** Of each record in `bytes`. */
  ends: Uint32Array;
}

export interface CatalogCommands {
  /** `damaged`: keys of records that do not fit their checksums. */
  loadCatalog: { request: Record<never, never>; answer: PackedRecords & { damaged: string[] } };
  /** `collectionsMax`: how many the tenant may have; one more is refused with `collection_limit_reached`. */
  createCollection: {
    request: { collection: Omit<Collection, 'id'>; collectionsMax?: number };
    answer: StoredCollection;
  };
  /**
   * Refused with `collection_not_found` when no collection has this name and id any more; `collection_conflict` for a
   * new name that is taken.
   */
  updateCollection: { request: { collection: CollectionKey; change: CollectionChange }; answer: StoredCollection };
  deleteCollection: { request: { collection: CollectionKey }; answer: null };
  loadTenants: { request: Record<never, never>; answer: StoredTenants };
  /** A new tenant with its first key. Refused with `tenant_exists`. */
  createTenant: { request: { tenant: TenantRecord; key: KeyRecord }; answer: null };
  /**
   * `tenant` is the record to change where the tenant has collections only and no record yet. Refused with
   * `tenant_not_found`.
   */
  updateTenant: { request: { tenant: TenantRecord; change: TenantChange }; answer: TenantRecord };
  /**
   * Answers the collections that went with it. Refused with `tenant_not_found`, `tenant_not_empty` where not `force`.
   */
  deleteTenant: { request: { tenant: Tenant; force: boolean }; answer: StoredCollection[] };
  /**
   * A new key; `tenant` is the record to write where the tenant has none yet. Answers the revoked key that went for it.
   * Refused with `tenant_not_found`, `key_limit_reached`.
   */
  createKey: { request: { tenant: TenantRecord; key: KeyRecord }; answer: KeyRecord | null };
  /** Answers the key as it is then; one that was revoked keeps its time. Refused with `key_not_found`. */
  revokeKey: { request: { tenant: Tenant; keyId: string; revokedAt: string }; answer: KeyRecord };
  loadStaged: { request: Record<never, never>; answer: StagedRecord[] };
  /** Gives a staged collection its id. */
  stageCollection: { request: { staged: NewStaged }; answer: StagedRecord };
  /** Gives one up; what it holds is no longer anybody's. Nothing where it is gone already. */
  unstageCollection: { request: { staged: CollectionId }; answer: null };
  /**
   * Gives a staged collection the name, in one transaction. Refused with `collection_changed` where the name stands for
   * another one than expected, or nothing of this id is staged.
   */
  switchCollection: { request: SwitchRequest; answer: Switched };
  /**
   * Puts the staged collections, and these tenants and keys, in the place of everything, in one transaction. Refused
   * with `collection_changed` where one is not staged.
   */
  replaceDataset: { request: { staged: CollectionId[]; tenants: StoredTenants }; answer: ReplacedDataset };
  loadJobs: { request: Record<never, never>; answer: StoredJob[] };
  /** A new job with what is staged for it, in one transaction; what it takes the place of goes in the same. */
  createJob: { request: JobChange & { staged: NewStaged }; answer: { job: StoredJob; staged: StagedRecord } };
  saveJob: { request: JobChange; answer: null };
}

/** `forget`: jobs that are told of no longer. `unstage`: what goes with the change. */
export interface JobChange {
  job: StoredJob;
  unstage?: CollectionId[];
  forget?: string[];
}
