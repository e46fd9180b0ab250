// Opens a shard with its new worker, at the start and after a crash of a worker: shard 0 loads the catalog, then each
// shard opens its segments of the collections. Runs on the front thread.
import type { Collection, CollectionGroup } from '../api/collections.js';
import { decodeCollections } from '../storage/catalog-records.js';
import type { ArchiveContext } from './archive/archive.js';
import { releaseHeld } from './archive/fill.js';
import type { CatalogContext } from './collections/catalog-changes.js';
import { type CollectionsContext, ensureCommonCollection } from './collections/collections.js';
import type { ReindexContext } from './reindex/jobs.js';
import { resumeJobs } from './reindex/run-job.js';
import type { TenantRegistry } from './tenants/registry.js';

/** What opening a shard needs. */
export interface StartupContext {
  readonly store: CatalogContext;
  readonly tenants: Pick<TenantRegistry, 'load'>;
  readonly collections: CollectionsContext;
  readonly reindex: ReindexContext;
  readonly archive: ArchiveContext;
}

/**
 * Groups the ids of collections by the properties that a shard must know. Thousands of collections form only a few
 * groups.
 */
function groupsOf(collections: Iterable<Collection>): CollectionGroup[] {
  const groups = new Map<string, { kind: CollectionGroup['kind']; ids: number[] }>();
  for (const { id, generation, dim, language, precision } of collections) {
    const name = `${generation} ${dim} ${language} ${precision}`;
    const group = groups.get(name) ?? { kind: { generation, dim, language, precision }, ids: [] };
    groups.set(name, group);
    group.ids.push(id);
  }
  return Array.from(groups.values(), ({ kind, ids }) => ({ kind, ids: Uint32Array.from(ids) }));
}

export async function openShard(context: StartupContext, shard: number): Promise<void> {
  const { store, tenants } = context;
  const { catalog, shadows, shards } = store;
  // Tenants are loaded first: no request is answered before the catalog is loaded.
  if (shard === 0) tenants.load(await shards.request(0, 'loadTenants', {}));
  if (shard === 0) await loadCatalog(context);
  await catalog.whenLoaded;
  const besides = Array.from(shadows.all(), ({ collection }) => collection);
  await shards.request(shard, 'open', {
    collections: groupsOf([...catalog.all(), ...besides]),
    isWhole: catalog.isWhole,
  });
}

async function loadCatalog({ store, reindex }: StartupContext): Promise<void> {
  const { catalog, shadows, shards, log } = store;
  const [records, { damaged, ...packed }, jobs] = await Promise.all([
    shards.request(0, 'loadShadows', {}),
    shards.request(0, 'loadCatalog', {}),
    shards.request(0, 'loadJobs', {}),
  ]);
  for (const key of damaged)
    log.error(
      { collection: key.replace('\0', '/') },
      'the catalog record of a collection is damaged, and the collection is not served; stop the server, and run sheaf check and sheaf repair',
    );
  shadows.load(records, jobs);
  reindex.jobs.load(jobs);
  catalog.load(decodeCollections(packed), damaged);
}

/** Runs once a shard accepts all commands. */
export async function afterOpening(context: StartupContext, shard: number): Promise<void> {
  const { store, collections, archive, reindex } = context;
  await dropAgain(store, shard);
  if (shard === 0) {
    await removeOrphans(store);
    await ensureCommonCollection(collections);
    await releaseHeld(archive);
  }
  if (store.shards.openCount === store.shards.size) await resumeJobs(reindex);
}

/** Drops again what was dropped while the shard was not available. */
async function dropAgain({ catalog, shards }: CatalogContext, shard: number): Promise<void> {
  for (const collection of catalog.toDrop) await shards.request(shard, 'dropCollection', { collection });
}

/**
 * Removes shadow collections without an owner. The shards were not told of them when they opened, and therefore delete
 * their data.
 */
async function removeOrphans({ shards, shadows }: CatalogContext): Promise<void> {
  for (const id of shadows.orphans.splice(0)) await shards.request(0, 'dropShadow', { shadow: id });
}
