// The commands of the catalog, which the worker of shard 0 takes: each is one call of its store.
// Made by commands.ts. Shard worker only.
import type { CatalogCommands } from '../../src/contract/catalog-commands.js';
import type { ShardRequest } from '../../src/contract/messages.js';
import type { CatalogStore } from '../../src/store/catalog-store.js';

type CatalogHandlers = { [O in keyof CatalogCommands]: (request: ShardRequest<O>) => CatalogCommands[O]['answer'] };

/** `catalog`: opened when it is first asked for. */
export const catalogHandlers = (catalog: () => CatalogStore): CatalogHandlers => ({
  loadCatalog: () => catalog().packed(),
  createCollection: ({ collection, collectionsMax }) => catalog().create(collection, collectionsMax),
  updateCollection: ({ collection, change }) => catalog().update(collection, change),
  deleteCollection: ({ collection }) => (catalog().delete(collection), null),
  loadStaged: () => catalog().staged.all(),
  stageCollection: ({ staged }) => catalog().staged.stage(staged),
  unstageCollection: ({ staged }) => (catalog().staged.unstage(staged), null),
  switchCollection: (request) => catalog().staged.switchTo(request),
  replaceDataset: ({ staged, tenants }) => catalog().dataset.replace(staged, tenants),
  loadJobs: () => catalog().jobs.all(),
  createJob: ({ staged, ...change }) => catalog().jobs.create(change, staged),
  saveJob: (change) => (catalog().jobs.save(change), null),
  loadTenants: () => catalog().tenants.all(),
  createTenant: ({ tenant, key }) => (catalog().tenants.create(tenant, key), null),
  updateTenant: ({ tenant, change }) => catalog().tenants.update(tenant, change),
  deleteTenant: ({ tenant, force }) => catalog().tenants.delete(tenant, force),
  createKey: ({ tenant, key }) => catalog().tenants.createKey(tenant, key),
  revokeKey: ({ tenant, keyId, revokedAt }) => catalog().tenants.revokeKey(tenant, keyId, revokedAt),
});
