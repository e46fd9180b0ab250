// The catalog in LMDB: every collection of every tenant, the counter that gives each its storage id, what is staged
// beside them, reindex jobs, tenants and keys. The owner of shard 0 alone; the front thread works on a copy in memory.
import {
  type CollectionChange,
  type CollectionKey,
  type JobChange,
  logIdOf,
  spaceIn,
  type NewStaged,
  type PackedRecords,
  type ReplacedDataset,
  type StagedRecord,
  type StoredCollection,
  type StoredJob,
  type Switched,
  type SwitchRequest,
} from './catalog-commands.js';
import { AppError } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type { StoredTenants } from '../api/tenants.js';
import type { StoreMeter } from '../base/meters.js';
import {
  CATALOG_TABLES,
  type CatalogTable,
  type CatalogTables,
  allStaged,
  besides,
  decodeCollection as decode,
  decodeCollection,
  decodeCollections,
  decodeJob,
  decodeStaged,
  encodeCatalogRecord as encode,
  nextId,
  present,
  putStaged,
  removeStaged,
  stageIn,
} from './catalog-records.js';
import { accessKeyKey, catalogKey, collectionPrefix, settingKey, tenantKey, tenantPrefix } from './keys.js';
import { Environment } from './lmdb.js';
import { ALL, removeAll, wholeValues } from './table.js';
import { TenantStore } from './tenants.js';

/** Reindex jobs: a record each, changed with what is staged for it where that belongs together. */
class JobStore {
  constructor(private readonly env: Environment<CatalogTable>) {}

  /**
   * In the order of their ids, which is that of their beginnings. Of a damaged one nothing is left but what it had
   * staged, which goes.
   */
  all(): StoredJob[] {
    return this.env.read(({ jobs }) => Array.from(wholeValues(jobs), decodeJob));
  }

  /** A new job with what is staged for it: there are both or neither. */
  create({ job, ...others }: JobChange, staged: NewStaged): { job: StoredJob; staged: StagedRecord } {
    return this.env.write((tables) => {
      const record = stageIn(tables, staged);
      const made = { ...job, staged_id: record.id };
      change(tables, { job: made, ...others });
      return { job: made, staged: record };
    });
  }

  save(changed: JobChange): void {
    this.env.write((tables) => change(tables, changed));
  }
}

/** In a transaction that does more. */
const putJob = ({ jobs }: CatalogTables, job: StoredJob): void => jobs.put(jobKey(job.job_id), encode(job));

const jobKey = settingKey;

function change(tables: CatalogTables, { job, unstage = [], forget = [] }: JobChange): void {
  putJob(tables, job);
  for (const id of unstage) removeStaged(tables.staged, id);
  for (const id of forget) tables.jobs.delete(jobKey(id));
}

/**
 * The whole catalog changed at once, for the restore of a dataset: one transaction, so that there is the old dataset or
 * the new one, whatever ends the process meanwhile.
 */
class DatasetStore {
  constructor(private readonly env: Environment<CatalogTable>) {}

  /**
   * The staged collections get their names, everything else goes, tenants and keys too. Throws `collection_changed`
   * where one of them is not staged.
   */
  replace(wanted: readonly CollectionId[], { tenants, keys }: StoredTenants): ReplacedDataset {
    return this.env.write((tables) => {
      // What is damaged goes too: a restore is how it is mended.
      const gone = Array.from(wholeValues(tables.collections), decodeCollection);
      const staged = allStaged(tables.staged);
      const isWanted = new Set(wanted);
      const collections = staged.filter(({ id }) => isWanted.has(id)).map(({ collection }) => collection);
      if (collections.length !== isWanted.size) throw new AppError('collection_changed');
      for (const table of [tables.collections, tables.tenants, tables.keys]) removeAll(table);
      for (const { id } of staged) removeStaged(tables.staged, id);
      for (const collection of collections)
        tables.collections.put(catalogKey(collection.tenant, collection.name), encode(collection));
      for (const tenant of tenants) tables.tenants.put(tenantKey(tenant.tenant), encode(tenant));
      for (const key of keys) tables.keys.put(accessKeyKey(key.tenant, key.key_id), encode(key));
      return { collections, gone, dropped: staged.filter(({ id }) => !isWanted.has(id)) };
    });
  }
}

/**
 * Staged collections. A switch is one transaction: the name stands for the old space or for the new one, whatever ends
 * the process meanwhile. What a staged id holds in the shards is not its concern.
 */
class StagedStore {
  constructor(private readonly env: Environment<CatalogTable>) {}

  all(): StagedRecord[] {
    return this.env.read(({ staged }) => allStaged(staged));
  }

  stage(wanted: NewStaged): StagedRecord {
    return this.env.write((tables) => stageIn(tables, wanted));
  }

  /** Nothing where it is gone already. */
  unstage(id: CollectionId): void {
    this.env.write(({ staged }) => void removeStaged(staged, id));
  }

  /** Throws `collection_changed` where the name stands for another collection than `expect`, or `id` is not staged. */
  switchTo({ id, expect, nowIso, keptUntilMs, job }: SwitchRequest): Switched {
    return this.env.write((tables) => {
      const { collections, staged } = tables;
      const bytes = staged.get(collectionPrefix(id));
      if (!bytes) throw new AppError('collection_changed');
      const record = decodeStaged(bytes);
      const key = catalogKey(record.collection.tenant, record.collection.name);
      const found = collections.get(key);
      const live = found && decodeCollection(found);
      if ((live?.id ?? null) !== expect) throw new AppError('collection_changed');
      const dropped = live ? besides(staged, new Set([live.id])).filter((other) => other.id !== id) : [];
      for (const other of [record, ...dropped]) removeStaged(staged, other.id);
      const collection = switched(record, live);
      collections.put(key, encode(collection));
      const previous = live ? previousOf(live, id, nowIso, keptUntilMs) : null;
      if (previous) putStaged(staged, previous);
      if (job) putJob(tables, job);
      return { collection, previous, dropped };
    });
  }
}

/**
 * What is restored comes with its own settings; another space of the same documents takes those of today, and goes on
 * with the log.
 */
function switched({ purpose, collection }: StagedRecord, live: StoredCollection | undefined): StoredCollection {
  if (purpose === 'restore' || !live) return collection;
  const { id, generation } = collection;
  return { ...live, id, generation, ...spaceIn(collection), log_id: logIdOf(live) };
}

function previousOf(live: StoredCollection, replaces: CollectionId, nowIso: string, keptUntilMs: number): StagedRecord {
  return {
    id: live.id,
    purpose: 'previous',
    collection: live,
    replaces,
    created_at: nowIso,
    kept_until_ms: keptUntilMs,
  };
}

export class CatalogStore {
  /** Tenants and keys, in the same environment. */
  readonly tenants: TenantStore;
  /** What is staged beside collections. */
  readonly staged: StagedStore;
  readonly jobs: JobStore;
  /** All of it at once. */
  readonly dataset: DatasetStore;

  private constructor(private readonly env: Environment<CatalogTable>) {
    this.tenants = new TenantStore(env);
    this.staged = new StagedStore(env);
    this.jobs = new JobStore(env);
    this.dataset = new DatasetStore(env);
  }

  static open(directory: string, takeOver: boolean, meter?: StoreMeter): CatalogStore {
    return new CatalogStore(Environment.open(directory, CATALOG_TABLES, takeOver, meter));
  }

  all(): StoredCollection[] {
    return decodeCollections(this.packed());
  }

  /** All collections, for `decodeCollections`; and the keys of those whose record is damaged. */
  packed(): PackedRecords & { damaged: string[] } {
    const found = this.env.read(({ collections }) => [...collections.inspect(ALL)]);
    const records = found.flatMap(({ value }) => value ?? []);
    const damaged = found.flatMap(({ key, value }) => (value ? [] : [key.toString()]));
    let end = 0;
    return {
      bytes: new Uint8Array(Buffer.concat(records)),
      ends: Uint32Array.from(records, ({ length }) => (end += length)),
      damaged,
    };
  }

  /**
   * Adds a collection and gives it an id; when its name is taken, changes nothing and answers the one that is there.
   * Throws `collection_limit_reached` where the tenant has `collectionsMax` already: two at a time cannot both be the
   * last.
   */
  create(collection: Omit<StoredCollection, 'id'>, collectionsMax = Infinity): StoredCollection {
    return this.env.write(({ collections, settings }) => {
      const key = catalogKey(collection.tenant, collection.name);
      const taken = collections.get(key);
      if (taken) return decode(taken);
      if (collectionsMax < Infinity && countOf(collections.keys(tenantPrefix(collection.tenant))) >= collectionsMax)
        throw new AppError('collection_limit_reached');
      const made = { ...collection, id: nextId(settings) };
      collections.put(key, encode(made));
      return made;
    });
  }

  /**
   * Changes a collection, a new name included: its documents go by the id. Throws `collection_not_found`,
   * `collection_conflict`.
   */
  update(found: CollectionKey, change: CollectionChange): StoredCollection {
    return this.env.write(({ collections, staged }) => {
      const changed = { ...present(collections, found), ...change };
      const [before, after] = [catalogKey(found.tenant, found.name), catalogKey(changed.tenant, changed.name)];
      if (!after.equals(before) && collections.has(after)) throw new AppError('collection_conflict');
      collections.delete(before);
      collections.put(after, encode(changed));
      const { tenant, name } = changed;
      for (const record of besides(staged, new Set([changed.id])))
        putStaged(staged, { ...record, collection: { ...record.collection, tenant, name } });
      return changed;
    });
  }

  /** What is staged beside it goes too. Throws `collection_not_found`. */
  delete(found: CollectionKey): void {
    this.env.write(({ collections, staged }) => {
      present(collections, found);
      collections.delete(catalogKey(found.tenant, found.name));
      for (const { id } of besides(staged, new Set([found.id]))) removeStaged(staged, id);
    });
  }

  close(): void {
    this.env.close();
  }
}

function countOf(keys: Iterable<unknown>): number {
  let count = 0;
  for (const _ of keys) count++;
  return count;
}
