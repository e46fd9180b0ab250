// Makes a shard usable after its worker has claimed it, at start and after a worker's death: shard 0 brings the
// catalog, every shard then loads its part of the collections.
import type { Collection, CollectionGroup } from '../api/collections.js';
import { decodeCollections } from '../storage/catalog-records.js';
import { releaseHeld } from './archive/fill.js';
import { ensureCommonCollection } from './collections/collections.js';
import type { Context } from './context.js';
import { resumeJobs } from './reindex/run-job.js';

// Collections as a shard is told of them when it opens: ids by all else that it must know of them. Of ten thousand
// collections there are few kinds. Called by open-shard.ts, on the front thread; pure.

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

export async function openShard(context: Context, shard: number): Promise<void> {
  const { catalog, staged, shards, tenants } = context;
  // Tenants first: no request is answered before the catalog is there.
  if (shard === 0) tenants.load(await shards.ask(0, 'loadTenants', {}));
  if (shard === 0) await loadCatalog(context);
  await catalog.whenLoaded;
  const besides = Array.from(staged.all(), ({ collection }) => collection);
  await shards.ask(shard, 'open', { collections: groupsOf([...catalog.all(), ...besides]), isWhole: catalog.isWhole });
}

async function loadCatalog({ catalog, staged, reindexJobs, shards, log }: Context): Promise<void> {
  const [records, { damaged, ...packed }, jobs] = await Promise.all([
    shards.ask(0, 'loadStaged', {}),
    shards.ask(0, 'loadCatalog', {}),
    shards.ask(0, 'loadJobs', {}),
  ]);
  for (const key of damaged)
    log.error(
      { collection: key.replace('\0', '/') },
      'the catalog record of a collection is damaged: it is not served; stop the server, and run sheaf check and sheaf repair',
    );
  staged.load(records, jobs);
  reindexJobs.load(jobs);
  catalog.load(decodeCollections(packed), damaged);
}

/** What there is to do once a shard takes every command. */
export async function afterOpening(context: Context, shard: number): Promise<void> {
  await dropAgain(context, shard);
  if (shard === 0) {
    await removeOrphans(context);
    await ensureCommonCollection(context);
    await releaseHeld(context);
  }
  if (context.shards.openCount === context.shards.size) await resumeJobs(context);
}

/** What was dropped while the shard was away has come back with it. */
async function dropAgain({ catalog, shards }: Context, shard: number): Promise<void> {
  for (const collection of catalog.toDrop) await shards.ask(shard, 'dropCollection', { collection });
}

/** What was staged by nobody who is still there: no shard was told of it, so that they remove what they have. */
async function removeOrphans({ shards, staged }: Context): Promise<void> {
  for (const id of staged.orphans.splice(0)) await shards.ask(0, 'unstageCollection', { staged: id });
}
