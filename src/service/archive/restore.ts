// Use case: a collection out of an archive, as a new one or in place of one that is there. The archive is verified
// before anything is changed; then its documents are staged beside what is searched, and the name goes to them in one
// transaction. Whatever happens before that leaves everything as it was. Called by the archive endpoints and the
// restore of a dataset; front thread.
import { ArchiveFault } from '../archive/archive-fault.js';
import type { VerifiedCollection } from '../contract/archive-messages.js';
import type { CollectionPlace } from '../contract/archived.js';
import { AppError } from '../contract/errors.js';
import type { CollectionId, CollectionName, Tenant } from '../contract/ids.js';
import { logIdOf, type Collection } from '../contract/resources.js';
import type { OpenedArchive } from '../pool/archive-pool.js';
import { restoredCollection } from './archived-settings.js';
import type { Context } from './context.js';
import { fillStaged, linkStaged, type Filling } from './fill-staged.js';
import { holdQueries, releaseQueries } from './held-queries.js';
import { endJobsOf } from './reindex/end-job.js';
import { giveUpStaged, stageCollection, switchCollection } from './stage-collection.js';

export interface RestoreWish {
  tenant: Tenant;
  name: CollectionName;
  /** `create`: there must be no such collection; `replace`: there must be one. */
  mode: 'create' | 'replace';
  /** The collection in the archive; undefined: the one of these names, or the only one. */
  from: CollectionPlace | undefined;
  /** Only verifies. */
  isDryRun: boolean;
  /** Of all that the archive unpacks to. */
  unpackedBytesMax: number;
  signal: AbortSignal;
}

/**
 * Restores from the file at `path`. Throws 409 `collection_exists` or 404 `collection_not_found`, 400
 * `collection_archive_invalid`, 429 where a quota of the tenant does not allow it, 503 `embedder_unavailable`,
 * `storage_full`, `collection_changed`.
 */
export async function restoreCollection(
  context: Context,
  path: string,
  wish: RestoreWish,
): Promise<VerifiedCollection['counts']> {
  checkPresence(context, wish);
  const { tenant, name, unpackedBytesMax, signal } = wish;
  const kind = { from: wish.from ?? { tenant, name }, isNamed: wish.from !== undefined };
  return context.archives.open(
    {
      op: 'read',
      path,
      kind,
      shards: context.shards.size,
      unpackedBytesMax,
      metadataBytesMax: context.metadataBytesMax,
    },
    signal,
    async (opened) => {
      const [verified] = opened.archive.collections as [VerifiedCollection];
      const live = checkPresence(context, wish);
      const planned = await plan(context, wish, verified, live);
      if (!wish.isDryRun) await restore(context, opened, { ...wish, planned, verified, live });
      return verified.counts;
    },
  );
}

/** The collection that has the name. */
export function checkPresence(
  { catalog }: Context,
  { tenant, name, mode }: Pick<RestoreWish, 'tenant' | 'name' | 'mode'>,
): Collection | undefined {
  if (mode === 'replace') return catalog.get(tenant, name);
  if (catalog.find(tenant, name)) throw new AppError('collection_exists');
  return undefined;
}

async function plan(
  context: Context,
  { tenant, name }: RestoreWish,
  verified: VerifiedCollection,
  live: Collection | undefined,
): Promise<Omit<Collection, 'id'>> {
  try {
    const planned = await restoredCollection(context, tenant, name, verified);
    checkQuotas(context, tenant, verified, live);
    return planned;
  } catch (error) {
    throw error instanceof ArchiveFault ? error.refusal('collection_archive_invalid') : error;
  }
}

function checkQuotas(
  { tenants, catalog }: Context,
  tenant: Tenant,
  { counts }: VerifiedCollection,
  live: Collection | undefined,
): void {
  const { collectionsMax, chunksPerCollectionMax } = tenants.limitsOf(tenant);
  if (counts.chunks > chunksPerCollectionMax) throw new AppError('chunk_limit_reached');
  if (!live && catalog.ofTenant(tenant).length >= collectionsMax) throw new AppError('collection_limit_reached');
}

interface Restore extends RestoreWish, Pick<Filling, 'verified'> {
  planned: Omit<Collection, 'id'>;
  live: Collection | undefined;
}

async function restore(
  context: Context,
  opened: OpenedArchive,
  { tenant, planned, verified, live, signal }: Restore,
): Promise<void> {
  // What was searched in the one that is replaced stays known, and what the archive knows comes to it.
  const collection = live ? { ...planned, log_id: logIdOf(live) } : planned;
  const { id, collection: staged } = await stageCollection(context, {
    purpose: 'restore',
    collection,
    replaces: live?.id ?? null,
    created_at: new Date(context.nowMs()).toISOString(),
  });
  try {
    await fillStaged(context, staged, { opened, place: 0, verified, signal });
    await holdQueries(context, id, opened, 0);
    if (live) await linkStaged(context, staged, signal);
    const { collectionsMax } = context.tenants.limitsOf(tenant);
    if (!live && context.catalog.ofTenant(tenant).length >= collectionsMax)
      throw new AppError('collection_limit_reached');
    await switchCollection(context, id, { expect: live?.id ?? null });
  } catch (error) {
    if (context.staged.find(id)) await giveUpRestored(context, id);
    throw error;
  }
  if (live) await endJobsOf(context, logIdOf(live));
  // Not before: until then it is the log of the collection that is still there.
  await releaseQueries(context, id);
}

/** With the logged searches that wait for it. */
export async function giveUpRestored(context: Context, id: CollectionId): Promise<void> {
  await giveUpStaged(context, id);
  await releaseQueries(context, id);
}
