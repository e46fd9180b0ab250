// The catalog commands, which the owner of shard 0 takes besides those of its shard: collections, shadow collections,
// reindex jobs, tenants and access keys; and the records that they carry. Mostly types, and small functions of a
// collection. Any thread.
import type { Collection, CollectionRef, Space } from '../api/collections.js';
import type { AliasRecord } from '../api/aliases.js';
import type { CollectionId, CollectionName, Tenant } from '../api/ids.js';
import type { JudgementSet, JudgementSetSummary } from '../api/judgements.js';
import type { ReindexJob } from '../api/reindex.js';
import type { KeyRecord, StoredTenants, TenantChange, TenantRecord } from '../api/tenants.js';

/**
 * A collection as it is stored. `language` is absent in records from before languages, which have the server's;
 * `precision` is absent in records from before precisions, which have the default.
 */
export type StoredCollection = Omit<Collection, 'language' | 'precision'> &
  Partial<Pick<Collection, 'language' | 'precision'>>;

/** The collection id under which its query log is stored. */
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

/** A collection as a caller found it: its name, and the id that the name stood for. */
export type CollectionKey = Pick<Collection, 'tenant' | 'name' | 'id'>;

/** The fields of a collection that can be changed. */
export type CollectionChange = Partial<Pick<Collection, 'name' | 'display_name' | 'synonyms' | 'ttl'>>;

/** A reindex job as it is stored: what clients see, and its progress. */
export interface StoredJob extends ReindexJob {
  /**
   * The id under which the collection's query log is stored. It stays the same when another vector space takes over.
   */
  log_id: CollectionId;
  /** The shadow collection that the job fills; null once it has been given up. */
  staged_id: CollectionId | null;
  /** For each shard, the last document copied: '' before the first, null after the last. */
  cursors: (string | null)[];
}

/**
 * `spread`: the same vector space in other shards, which gets no dual writes. `previous`: the collection that had the
 * name before a switch, kept for a while.
 */
export type ShadowPurpose = 'reindex' | 'spread' | 'restore' | 'previous';

/**
 * A shadow collection: it is filled, invisible to clients, beside the collection that has the name, and takes the name
 * over in one transaction. Reindex, restore and the way back from a reindex use it.
 */
export interface ShadowRecord {
  id: CollectionId;
  purpose: ShadowPurpose;
  /** Its settings, with its own id. Tenant and name are those that it will take over. */
  collection: StoredCollection;
  /**
   * The collection that it will replace; null if the name will be new. For a previous collection: the one that replaced
   * it.
   */
  replaces: CollectionId | null;
  created_at: string;
  /** For a previous collection: until when it receives dual writes, in milliseconds since 1970. */
  kept_until_ms?: number;
  /** Of a restore in a cluster: the session of the node that restores it. */
  session?: string;
}

/** A shadow collection to be created. The store gives it its id. */
export interface NewShadow extends Pick<ShadowRecord, 'purpose' | 'replaces' | 'created_at' | 'session'> {
  collection: Omit<StoredCollection, 'id'>;
}

export interface SwitchRequest {
  id: CollectionId;
  /** The collection that the name must stand for; null if the name must not exist. */
  expect: CollectionId | null;
  /**
   * `nowIso`: time of the switch; `keptUntilMs`: until when the previous collection receives dual writes, in
   * milliseconds since 1970.
   */
  nowIso: string;
  keptUntilMs: number;
  /** The job that ends with the switch. */
  job?: StoredJob;
}

/** Result of replacing the whole catalog. */
export interface ReplacedDataset {
  collections: StoredCollection[];
  /** The collections that had names before. */
  gone: StoredCollection[];
  /** Shadow collections of other operations, which are obsolete now. */
  dropped: ShadowRecord[];
  /** The aliases whose collections there still are. */
  aliases: AliasRecord[];
}

export interface Switched {
  collection: StoredCollection;
  /** The collection that had the name before; null if there was none. */
  previous: ShadowRecord | null;
  /** Shadow collections of the previous collection, which are obsolete now. */
  dropped: ShadowRecord[];
}

/** Records as they are stored, one after the other. */
export interface PackedRecords {
  bytes: Uint8Array;
  /** End offset of each record in `bytes`. */
  ends: Uint32Array;
}

/** The catalog commands with their requests and answers. */
export interface CatalogCommands {
  /** `damaged`: keys of records whose checksums do not fit. */
  loadCatalog: { request: Record<never, never>; answer: PackedRecords & { damaged: string[] } };
  /** `collectionsMax`: limit for the tenant. Fails with `collection_limit_reached` beyond it. */
  createCollection: {
    request: { collection: Omit<Collection, 'id'>; collectionsMax?: number };
    answer: StoredCollection;
  };
  /**
   * Fails with `collection_not_found` if no collection has this name and id any more, and with `collection_conflict` if
   * the new name is taken.
   */
  updateCollection: { request: { collection: CollectionKey; change: CollectionChange }; answer: StoredCollection };
  /** Fails with `collection_not_found`, and with `collection_has_aliases`. */
  deleteCollection: { request: { collection: CollectionKey }; answer: null };
  loadAliases: { request: Record<never, never>; answer: AliasRecord[] };
  /**
   * Creates an alias or gives it another collection. Fails with `collection_not_found`, with `alias_conflict` if a
   * collection has its name, and with `alias_limit_reached`.
   */
  putAlias: { request: { alias: AliasRecord }; answer: null };
  /** Fails with `alias_not_found`. */
  deleteAlias: { request: { tenant: Tenant; alias: CollectionName }; answer: null };
  /** All judgement sets of the collections with these log ids; without `logs`, of all collections. */
  loadJudgementSets: {
    request: { logs?: CollectionId[] };
    answer: { log: CollectionId; set: JudgementSet }[];
  };
  listJudgementSets: { request: { log: CollectionId }; answer: JudgementSetSummary[] };
  /** Fails with `judgement_set_not_found`, as the deletion does. */
  getJudgementSet: { request: { log: CollectionId; set: string }; answer: JudgementSet };
  /** Creates or replaces a set. Fails with `collection_not_found` and `judgement_set_limit_reached`. */
  putJudgementSet: { request: { collection: CollectionKey; set: JudgementSet }; answer: null };
  deleteJudgementSet: { request: { log: CollectionId; set: string }; answer: null };
  loadTenants: { request: Record<never, never>; answer: StoredTenants };
  /** Creates a tenant with its first access key. Fails with `tenant_exists`. */
  createTenant: { request: { tenant: TenantRecord; key: KeyRecord }; answer: null };
  /**
   * `tenant` is the record to start from if the tenant has collections but no record yet. Fails with
   * `tenant_not_found`.
   */
  updateTenant: { request: { tenant: TenantRecord; change: TenantChange }; answer: TenantRecord };
  /**
   * Answers the collections that were deleted with the tenant. Fails with `tenant_not_found`, and with
   * `tenant_not_empty` unless `force`.
   */
  deleteTenant: { request: { tenant: Tenant; force: boolean }; answer: StoredCollection[] };
  /**
   * Creates an access key. `tenant` is the record to write if the tenant has none yet. Answers the revoked key that was
   * deleted to stay within the limit. Fails with `tenant_not_found` or `key_limit_reached`.
   */
  createKey: { request: { tenant: TenantRecord; key: KeyRecord }; answer: KeyRecord | null };
  /** Revokes a key and answers it. A key that was already revoked keeps its time. Fails with `key_not_found`. */
  revokeKey: { request: { tenant: Tenant; keyId: string; revokedAt: string }; answer: KeyRecord };
  loadShadows: { request: Record<never, never>; answer: ShadowRecord[] };
  /** Creates a shadow collection and gives it its id. */
  createShadow: { request: { shadow: NewShadow }; answer: ShadowRecord };
  /** Gives a shadow collection up; its documents then belong to no collection. Does nothing if it does not exist. */
  dropShadow: { request: { shadow: CollectionId }; answer: null };
  /**
   * Gives a shadow collection its name, in one transaction. Fails with `collection_changed` if the name does not stand
   * for the expected collection, or if the shadow collection does not exist.
   */
  switchCollection: { request: SwitchRequest; answer: Switched };
  /**
   * Replaces all collections by the given shadow collections, and all tenants and keys by the given ones, in one
   * transaction; the aliases too, if they are given. Aliases whose collection does not exist then are left out. Fails
   * with `collection_changed` if a shadow collection does not exist.
   */
  replaceDataset: {
    request: { shadow: CollectionId[]; tenants: StoredTenants; aliases?: AliasRecord[] };
    answer: ReplacedDataset;
  };
  loadJobs: { request: Record<never, never>; answer: StoredJob[] };
  /** Creates a job and its shadow collection. What they replace is removed in the same transaction. */
  createJob: { request: JobChange & { shadow: NewShadow }; answer: { job: StoredJob; shadow: ShadowRecord } };
  saveJob: { request: JobChange; answer: null };
}

/**
 * A change of a job. `forget`: jobs to delete from the catalog; `dropShadow`: shadow collections to give up in the same
 * transaction.
 */
export interface JobChange {
  job: StoredJob;
  dropShadow?: CollectionId[];
  forget?: string[];
}
