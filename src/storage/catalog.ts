// The catalog in LMDB: every collection of every tenant, and the counter that gives each its storage id.
// Owned by the worker of shard 0; the front thread works on a copy in memory.
import { AppError } from '../contract/errors.js';
import type { PackedRecords } from '../contract/catalog-commands.js';
import type { CollectionChange, CollectionKey, StoredCollection } from '../contract/resources.js';
import type { StoreMeter } from '../contract/shared-meters.js';
import {
  CATALOG_TABLES,
  decodeCollection as decode,
  decodeCollections,
  encodeCatalogRecord as encode,
  type CatalogTable,
} from './catalog-records.js';
import { besides, nextId, present, putStaged, removeStaged } from './catalog-tables.js';
import { JobStore } from './job-store.js';
import { catalogKey, tenantPrefix } from './keys.js';
import { Environment } from './lmdb.js';
import { DatasetStore } from './dataset-store.js';
import { StagedStore } from './staged-store.js';
import { TenantStore } from './tenant-store.js';
import { ALL } from './whole-table.js';

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
