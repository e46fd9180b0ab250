// Use case: everything out of an archive, in place of all that is there. Verified whole, staged collection by
// collection beside what is searched, and put in its place in one transaction of the catalog: a crash leaves the old
// dataset or the new one. Called by the archive endpoints; front thread.
import { ArchiveFault } from '../archive/archive-fault.js';
import type { VerifiedArchive } from '../contract/archive-messages.js';
import { AppError } from '../contract/errors.js';
import { asCollectionName, asTenant, type CollectionId } from '../contract/ids.js';
import type { Collection } from '../contract/resources.js';
import type { OpenedArchive } from '../pool/archive-pool.js';
import { restoredCollection } from './archived-settings.js';
import { ensureCommonCollection } from './common-collection.js';
import { changeCatalog } from './change-catalog.js';
import type { Context } from './context.js';
import { forgetCollection } from './delete-collection.js';
import { fillStaged, linkStaged } from './fill-staged.js';
import { holdQueries, releaseQueries } from './held-queries.js';
import { giveUpRestored } from './restore-collection.js';
import { forgetStaged, stageCollection } from './stage-collection.js';

type Planned = Omit<Collection, 'id'>;

/** Throws 400 `archive_invalid`, 503 `embedder_unavailable`, `storage_full`. */
export async function restoreDataset(
  context: Context,
  path: string,
  isDryRun: boolean,
  signal: AbortSignal,
): Promise<VerifiedArchive> {
  return context.archives.open(
    {
      op: 'read',
      path,
      kind: 'dataset',
      shards: context.shards.size,
      unpackedBytesMax: Number.MAX_SAFE_INTEGER,
      metadataBytesMax: context.metadataBytesMax,
    },
    signal,
    async (opened) => {
      const planned = await planAll(context, opened.archive);
      if (!isDryRun) await restoreAll(context, opened, planned, signal);
      return opened.archive;
    },
  );
}

async function planAll(context: Context, { collections }: VerifiedArchive): Promise<Planned[]> {
  const planned: Planned[] = [];
  for (const verified of collections) {
    const { tenant, name } = verified.settings;
    try {
      planned.push(await restoredCollection(context, asTenant(tenant), asCollectionName(name), verified));
    } catch (error) {
      throw refusalOf(error, `${tenant}/${name}`);
    }
  }
  return planned;
}

function refusalOf(error: unknown, name: string): unknown {
  if (error instanceof ArchiveFault)
    return new ArchiveFault(error.reason, `${name}: ${error.message}`).refusal('archive_invalid');
  const isName =
    error instanceof AppError && (error.code === 'invalid_tenant_name' || error.code === 'invalid_collection_name');
  return isName
    ? new ArchiveFault('settings_invalid', `${name} is the name of no collection.`).refusal('archive_invalid')
    : error;
}

async function restoreAll(
  context: Context,
  opened: OpenedArchive,
  planned: readonly Planned[],
  signal: AbortSignal,
): Promise<void> {
  const staged: Collection[] = [];
  try {
    for (const [place, collection] of planned.entries()) {
      const { collection: made } = await stageCollection(context, {
        purpose: 'restore',
        collection,
        replaces: null,
        created_at: new Date(context.nowMs()).toISOString(),
      });
      staged.push(made);
      const verified = opened.archive.collections[place] as VerifiedArchive['collections'][number];
      await fillStaged(context, made, { opened, place, verified, signal });
      await holdQueries(context, made.id, opened, place);
    }
    for (const collection of staged) await linkStaged(context, collection, signal);
    await replaceAll(
      context,
      staged.map(({ id }) => id),
      opened.archive,
    );
  } catch (error) {
    for (const { id } of staged) if (context.staged.find(id)) await giveUpRestored(context, id);
    throw error;
  }
  // Not before: an id of a logged search belongs to the old dataset until then.
  for (const { id } of staged) await releaseQueries(context, id);
}

/** The store first; then, in one turn, what this thread has of it. */
async function replaceAll(
  context: Context,
  ids: CollectionId[],
  { tenants: archived }: VerifiedArchive,
): Promise<void> {
  const { catalog, staged, tenants } = context;
  const stored = archived ?? { tenants: [], keys: [] };
  const forgetting = await changeCatalog(
    context,
    'replaceDataset',
    { staged: ids, tenants: stored },
    ({ collections, gone, dropped }) => {
      const forgotten = [
        ...gone.map((collection) => forgetCollection(context, collection)),
        ...dropped.map(({ id }) => forgetStaged(context, id)),
      ];
      for (const collection of collections) {
        staged.remove(collection.id);
        catalog.put(collection);
      }
      tenants.load(stored);
      return forgotten;
    },
  );
  await Promise.all(forgetting);
  await ensureCommonCollection(context);
}
