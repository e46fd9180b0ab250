// The catalog in LMDB: every collection of every tenant, and the counter that gives each its storage id.
// Owned by the worker of shard 0; the front thread works on a copy in memory.
import { AppError } from '../contract/errors.js';
import type { CollectionId } from '../contract/ids.js';
import type { PackedRecords } from '../contract/messages.js';
import type { CollectionChange, CollectionKey, StoredCollection } from '../contract/resources.js';
import { CATALOG_TABLES, decodeCollection as decode, decodeCollections, encodeCatalogRecord as encode, type CatalogTable } from './catalog-records.js';
import { catalogKey, settingKey, tenantPrefix } from './keys.js';
import { Environment } from './lmdb.js';
import type { Table } from './tables.js';
import { TenantStore } from './tenant-store.js';

const NEXT_ID = settingKey('next_collection_id');

export class CatalogStore {
  /** Tenants and keys, in the same environment. */
  readonly tenants: TenantStore;

  private constructor(private readonly env: Environment<CatalogTable>) {
    this.tenants = new TenantStore(env);
  }

  static open(directory: string, takeOver: boolean): CatalogStore {
    return new CatalogStore(Environment.open(directory, CATALOG_TABLES, takeOver));
  }

  all(): StoredCollection[] {
    return decodeCollections(this.packed());
  }

  /** All collections, for `decodeCollections`. */
  packed(): PackedRecords {
    const records = this.env.read(({ collections }) => Array.from(collections.entries(Buffer.alloc(0)), ({ value }) => value));
    let end = 0;
    return { bytes: new Uint8Array(Buffer.concat(records)), ends: Uint32Array.from(records, ({ length }) => (end += length)) };
  }

  /**
   * Adds a collection and gives it an id; when its name is taken, changes nothing and answers the one that is there. Throws
   * `collection_limit_reached` where the tenant has `collectionsMax` already: two at a time cannot both be the last.
   */
  create(collection: Omit<StoredCollection, 'id'>, collectionsMax = Infinity): StoredCollection {
    return this.env.write(({ collections, settings }) => {
      const key = catalogKey(collection.tenant, collection.name);
      const taken = collections.get(key);
      if (taken) return decode(taken);
      if (collectionsMax < Infinity && countOf(collections.keys(tenantPrefix(collection.tenant))) >= collectionsMax) throw new AppError('collection_limit_reached');
      const made = { ...collection, id: nextId(settings) };
      collections.put(key, encode(made));
      return made;
    });
  }

  /** Changes a collection, a new name included: its documents go by the id. Throws `collection_not_found`, `collection_conflict`. */
  update(found: CollectionKey, change: CollectionChange): StoredCollection {
    return this.env.write(({ collections }) => {
      const changed = { ...present(collections, found), ...change };
      const [before, after] = [catalogKey(found.tenant, found.name), catalogKey(changed.tenant, changed.name)];
      if (!after.equals(before) && collections.has(after)) throw new AppError('collection_conflict');
      collections.delete(before);
      collections.put(after, encode(changed));
      return changed;
    });
  }

  /** Throws `collection_not_found`. */
  delete(found: CollectionKey): void {
    this.env.write(({ collections }) => {
      present(collections, found);
      collections.delete(catalogKey(found.tenant, found.name));
    });
  }

  close(): void {
    this.env.close();
  }
}

/** The collection that still has this name and id: another request may have renamed or deleted it since the caller looked. */
function present(collections: Table, { tenant, name, id }: CollectionKey): StoredCollection {
  const bytes = collections.get(catalogKey(tenant, name));
  const collection = bytes && decode(bytes);
  if (collection?.id !== id) throw new AppError('collection_not_found');
  return collection;
}

/** Ids start at 1, are never reused, and so a dropped collection's leftovers can never show in a new one. */
function nextId(settings: Table): CollectionId {
  const id = settings.get(NEXT_ID)?.readUInt32BE() ?? 1;
  const next = Buffer.alloc(4);
  next.writeUInt32BE(id + 1);
  settings.put(NEXT_ID, next);
  return id as CollectionId;
}

function countOf(keys: Iterable<unknown>): number {
  let count = 0;
  for (const _ of keys) count++;
  return count;
}
