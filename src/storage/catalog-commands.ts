// The commands of the catalog, which the worker of shard 0 takes beside those of its shard: collections, what is staged
// beside them, tenants and keys. Types only; part of messages.ts.
import type { Tenant, CollectionId } from './ids.js';
import type { Collection, CollectionChange, CollectionKey, StoredCollection } from './resources.js';
import type { StoredJob } from './reindex.js';
import type { NewStaged, ReplacedDataset, StagedRecord, Switched, SwitchRequest } from './staged.js';
import type { KeyRecord, StoredTenants, TenantChange, TenantRecord } from './tenants.js';

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
