// Use cases: an archive of a collection, and of everything, each as of one moment. Writes are held for as long as it
// takes to open a snapshot of every store, some milliseconds, and go on while an archive process writes. Front thread.
import type { ArchivedMoment, ArchivedSource } from '../../archive/messages.js';
import type { LeftOut } from '../../api/archives.js';
import type { CollectionId, CollectionName, Tenant } from '../../api/ids.js';
import type { Collection } from '../../api/collections.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import type { ArchivePool, BegunArchive } from '../../pool/archive-pool.js';
import type { CatalogContext } from '../collections/catalog-changes.js';
import type { CollectionsContext } from '../collections/collections.js';
import type { QueryLog } from '../query-log/query-log.js';
import type { TenantRegistry } from '../tenants/registry.js';

export interface ArchiveContext {
  readonly archives: ArchivePool;
  readonly store: CatalogContext;
  readonly collections: CollectionsContext;
  readonly tenants: Pick<TenantRegistry, 'limitsOf' | 'load'>;
  readonly queryLog: Pick<QueryLog, 'list' | 'hold' | 'release' | 'held'>;
  readonly metadataBytesMax: number;
}

/** Throws 404 `collection_not_found`, 500 `archive_failed` where a record of it is damaged. */
export async function archiveCollection(
  context: ArchiveContext,
  tenant: Tenant,
  name: CollectionName,
  signal: AbortSignal,
): Promise<BegunArchive> {
  const named = (): Collection => context.store.catalog.get(tenant, name);
  named();
  return write(
    context,
    () => named().id,
    signal,
    async () => ({ createdAtMs: context.store.nowMs(), sources: [sourceOf(named())], dataset: null }),
  );
}

/** Collections of which a record is damaged are left out, and named. */
export async function archiveDataset(context: ArchiveContext, signal: AbortSignal): Promise<BegunArchive> {
  const { catalog, shards } = context.store;
  return write(
    context,
    () => 'all',
    signal,
    async () => {
      const tenants = await shards.ask(0, 'loadTenants', {});
      return {
        createdAtMs: context.store.nowMs(),
        sources: [...catalog.all()].map(sourceOf),
        dataset: { tenants, leftOut: [...catalog.damagedKeys].map(leftOut) },
      };
    },
  );
}

function leftOut(key: string): LeftOut {
  const [tenant = '', name = ''] = key.split('\0');
  return { tenant: tenant as Tenant, name, reason: 'its record in the catalog is damaged' };
}

const sourceOf = (collection: Collection): ArchivedSource => ({ collection, logId: logIdOf(collection) });

/**
 * `wanted`: what to hold. A collection may be replaced or deleted until it is held: then it is another one, or none.
 */
async function write(
  context: ArchiveContext,
  wanted: () => CollectionId | 'all',
  signal: AbortSignal,
  momentNow: () => Promise<ArchivedMoment>,
): Promise<BegunArchive> {
  const {
    archives,
    store: { shards },
    queryLog,
  } = context;
  // An empty page: the log worker answers it when all that has been logged so far is on disk. First of all it has to
  // have made its store.
  const logged = (): Promise<unknown> => queryLog.list(0 as CollectionId, { offset: 0, limit: 0 });
  await logged();
  const hold = async (take: (moment: ArchivedMoment) => Promise<void>): Promise<void> => {
    const held = wanted();
    const isTaken = await shards.gate.exclusive(held, async () => {
      await logged();
      const moment = await momentNow();
      if (wanted() !== held) return false;
      await take(moment);
      return true;
    });
    if (!isTaken) await hold(take);
  };
  return archives.write({ op: 'write', directory: archives.directory, shards: shards.size }, hold, signal);
}
