// Opens a shard with its new worker, at the start and after a crash of a worker: shard 0 loads the catalog, then each
// shard opens its segments of the collections. Runs on the main thread.
import type { Collection, CollectionGroup } from '../api/collections.js';
import type { CollectionId } from '../api/ids.js';
import type { ShadowRecord, StoredJob } from '../storage/catalog-commands.js';
import { decodeCollections } from '../storage/catalog-records.js';
import type { ReplicatedLog } from '../cluster/command-log.js';
import type { ArchiveContext } from './archive/archive.js';
import { watchRestores } from './archive/abandoned.js';
import { releaseHeld } from './archive/fill.js';
import { type CatalogContext, changeCatalog } from './collections/catalog-changes.js';
import { type CollectionsContext, ensureCommonCollection } from './collections/collections.js';
import type { ReindexContext } from './reindex/jobs.js';
import { type DocumentsContext, watchExpiries } from './documents/changes.js';
import { watchGrowth } from './reindex/growth.js';
import { resumeJobs } from './reindex/run-job.js';

/** What opening a shard needs. */
export interface StartupContext {
  readonly store: CatalogContext;
  readonly collections: CollectionsContext;
  readonly documents: DocumentsContext;
  readonly reindex: ReindexContext;
  readonly archive: ArchiveContext;
  /** Absent on a single machine. */
  readonly commandLog: Pick<ReplicatedLog, 'opened' | 'isLeader'> | undefined;
  /** Shadow collections without an owner, to be removed from the store. */
  readonly orphans: Set<CollectionId>;
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
  const { catalog, shadows, shards } = context.store;
  const { commandLog } = context;
  if (shard === 0) await loadCatalog(context);
  await catalog.whenLoaded;
  const besides = Array.from(shadows.all(), ({ collection }) => collection);
  await shards.request(shard, 'open', {
    collections: groupsOf([...catalog.all(), ...besides]),
    // The catalog of a node may be behind its shards; collections leave them by commands of the log.
    isWhole: catalog.isWhole && !commandLog,
  });
}

async function loadCatalog({ store, reindex, orphans, commandLog }: StartupContext): Promise<void> {
  const { catalog, state, shards, log } = store;
  const [{ tenants, keys }, records, { damaged, ...packed }, aliases, jobs] = await Promise.all([
    shards.request(0, 'loadTenants', {}),
    shards.request(0, 'loadShadows', {}),
    shards.request(0, 'loadCatalog', {}),
    shards.request(0, 'loadAliases', {}),
    shards.request(0, 'loadJobs', {}),
  ]);
  for (const key of damaged)
    log.error(
      { collection: key.replace('\0', '/') },
      'the catalog record of a collection is damaged, and the collection is not served; stop the server, and run sheaf check and sheaf repair',
    );
  // In a cluster another node may be building them; the node that leads looks for those of restores.
  if (!catalog.loaded && !commandLog) for (const id of orphansAmong(records, jobs)) orphans.add(id);
  reindex.jobs.load(jobs);
  const shadows = records.filter(({ id }) => !orphans.has(id));
  const answer = { collections: decodeCollections(packed), damaged, aliases, shadows, tenants, keys };
  state.apply({ op: 'load', request: {}, answer });
}

/**
 * At the first load, shadow collections of restores and those that no job builds are orphans, because the process that
 * built them is gone.
 */
function orphansAmong(records: readonly ShadowRecord[], jobs: readonly StoredJob[]): CollectionId[] {
  const built = new Set(jobs.map(({ staged_id: id }) => id));
  return records.filter(({ id, purpose }) => purpose !== 'previous' && !built.has(id)).map(({ id }) => id);
}

/** Runs once a shard accepts all commands. */
export async function afterOpening(context: StartupContext, shard: number): Promise<void> {
  const { store, collections, documents, archive, reindex, commandLog, orphans } = context;
  if (commandLog) commandLog.opened(shard, await store.shards.request(shard, 'appliedLog', {}));
  await dropAgain(store, shard);
  if (shard === 0) {
    await removeOrphans(store, orphans);
    await ensureCommonCollection(collections);
    await releaseHeld(archive);
  }
  if (store.shards.openCount < store.shards.size || reindex.jobs.hasResumed) return;
  await resumeJobs(reindex);
  // Of the nodes of a cluster, one does this for all.
  const every = (ms: number, work: () => void): void =>
    reindex.jobs.every(ms, () => (!commandLog || commandLog.isLeader) && work());
  watchGrowth(reindex);
  watchExpiries(documents, every);
  watchRestores(archive, every);
  every(documents.answersLookMs, () => void documents.keyed.forgetOld(documents.log));
}

/** Drops again what was dropped while the shard was not available. */
async function dropAgain({ toDrop, shards }: CatalogContext, shard: number): Promise<void> {
  for (const collection of toDrop) await shards.request(shard, 'dropCollection', { collection });
}

/**
 * Removes shadow collections without an owner. The shards were not told of them when they opened, and therefore delete
 * their data.
 */
async function removeOrphans(store: CatalogContext, orphans: Set<CollectionId>): Promise<void> {
  for (const id of orphans) {
    await changeCatalog(store, 'dropShadow', { shadow: id }, () => undefined);
    orphans.delete(id);
  }
}
