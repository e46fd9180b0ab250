// Use cases: an archive of a collection, and of everything, each as of one moment. Writes are held for as long as it takes to open a snapshot
// of every store, some milliseconds, and go on while an archive process writes. Called by the archive endpoints; front thread.
import type { ArchivedMoment, ArchivedSource, LeftOut } from '../contract/archive-messages.js';
import type { CollectionId, CollectionName, Tenant } from '../contract/ids.js';
import { logIdOf, type Collection } from '../contract/resources.js';
import type { BegunArchive } from '../pool/archive-pool.js';
import type { Context } from './context.js';

/** Throws 404 `collection_not_found`, 500 `archive_failed` where a record of it is damaged. */
export async function archiveCollection(context: Context, tenant: Tenant, name: CollectionName, signal: AbortSignal): Promise<BegunArchive> {
  const { id } = context.catalog.get(tenant, name);
  return write(context, id, signal, async () => {
    // It may have been renamed, replaced or deleted while the process came up.
    const collection = context.catalog.get(tenant, name);
    return { createdAtMs: context.nowMs(), sources: [sourceOf(collection)], dataset: null };
  });
}

/** Collections of which a record is damaged are left out, and named. */
export async function archiveDataset(context: Context, signal: AbortSignal): Promise<BegunArchive> {
  const { catalog, shards } = context;
  return write(context, 'all', signal, async () => {
    const tenants = await shards.ask(0, 'loadTenants', {});
    return { createdAtMs: context.nowMs(), sources: [...catalog.all()].map(sourceOf), dataset: { tenants, leftOut: [...catalog.damagedKeys].map(leftOut) } };
  });
}

function leftOut(key: string): LeftOut {
  const [tenant = '', name = ''] = key.split('\0');
  return { tenant: tenant as Tenant, name, reason: 'its record in the catalog is damaged' };
}

const sourceOf = (collection: Collection): ArchivedSource => ({ collection, logId: logIdOf(collection) });

async function write(context: Context, held: CollectionId | 'all', signal: AbortSignal, momentNow: () => Promise<ArchivedMoment>): Promise<BegunArchive> {
  const { archives, shards, queryLog } = context;
  const hold = (take: (moment: ArchivedMoment) => Promise<void>): Promise<void> =>
    shards.gate.hold(held, async () => {
      // An empty page: the log worker answers it when all that has been logged so far is on disk.
      await queryLog.list(0 as CollectionId, { offset: 0, limit: 0 });
      await take(await momentNow());
    });
  return archives.write({ op: 'write', directory: archives.directory, shards: shards.size }, hold, signal);
}
