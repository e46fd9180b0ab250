// The whole catalog changed at once, for the restore of a dataset: one transaction, so that there is the old dataset or
// the new one, whatever ends the process meanwhile. Owned by the worker of shard 0, as all of the catalog.
import { AppError } from '../contract/errors.js';
import type { CollectionId } from '../contract/ids.js';
import type { ReplacedDataset } from '../contract/staged.js';
import type { StoredTenants } from '../contract/tenants.js';
import { decodeCollection, encodeCatalogRecord as encode, type CatalogTable } from './catalog-records.js';
import { allStaged, removeStaged } from './catalog-tables.js';
import { accessKeyKey, catalogKey, tenantKey } from './keys.js';
import type { Environment } from './lmdb.js';
import { removeAll, wholeValues } from './whole-table.js';

export class DatasetStore {
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
