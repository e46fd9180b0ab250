// Use cases that write an archive of one collection or of the whole server, or export documents, as of one moment.
// Writes are blocked only while a snapshot of every store is opened, which takes milliseconds; they continue while an
// archive process writes the bytes. Runs on the main thread.
import type { ArchivedMoment, ArchivedSource } from '../../archive/messages.js';
import type { LeftOut, LinesWish } from '../../api/archives.js';
import type { CollectionId, CollectionName, Tenant } from '../../api/ids.js';
import type { Collection } from '../../api/collections.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import type { ReplicatedLog } from '../../cluster/command-log.js';
import type { ArchivePool, BegunArchive } from '../../pool/archive-pool.js';
import type { CatalogContext } from '../collections/catalog-changes.js';
import type { CollectionsContext } from '../collections/collections.js';
import type { QueryLog } from '../query-log/query-log.js';
import type { TenantRegistry } from '../tenants/registry.js';

export interface ArchiveContext {
  readonly archives: ArchivePool;
  /** Absent on a single machine. */
  readonly commandLog: Pick<ReplicatedLog, 'atRest' | 'session' | 'sessions'> | undefined;
  readonly store: CatalogContext;
  readonly collections: CollectionsContext;
  readonly tenants: Pick<TenantRegistry, 'limitsOf'>;
  readonly queryLog: Pick<QueryLog, 'stores' | 'isShared' | 'list' | 'elsewhere' | 'hold' | 'release' | 'held'>;
  readonly metadataBytesMax: number;
  /** Whether strings in filters may be operators, as in searches. */
  readonly stringOperators: boolean;
  /** The number of batches of documents that a restore has under way. */
  readonly batchesRestored: number;
}

/** Throws 404 `collection_not_found`, and 500 `archive_failed` if a record of the collection is damaged. */
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
    async () => ({ createdAtMs: context.store.nowMs(), sources: await sourcesOf(context, [named()]), dataset: null }),
  );
}

/**
 * Documents as lines of JSON, as of one moment. Throws 404 `collection_not_found`. The stream ends with an error at a
 * damaged record.
 */
export async function exportCollection(
  context: ArchiveContext,
  tenant: Tenant,
  name: CollectionName,
  lines: LinesWish,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const named = (): Collection => context.store.catalog.get(tenant, name);
  named();
  const { bytes } = await write(
    context,
    () => named().id,
    signal,
    async () => ({
      createdAtMs: context.store.nowMs(),
      sources: await sourcesOf(context, [named()]),
      dataset: null,
      lines,
    }),
  );
  return bytes;
}

/**
 * Skips collections that have damaged records and lists them in the archive. `asEntries`: its entries one by one, in place
 * of a zip.
 */
export async function archiveDataset(
  context: ArchiveContext,
  signal: AbortSignal,
  asEntries = false,
): Promise<BegunArchive> {
  const { catalog, shards } = context.store;
  return write(
    context,
    () => 'all',
    signal,
    async () => {
      const tenants = await shards.request(0, 'loadTenants', {});
      return {
        createdAtMs: context.store.nowMs(),
        sources: await sourcesOf(context, [...catalog.all()]),
        dataset: { tenants, aliases: catalog.allAliases(), leftOut: [...catalog.damagedKeys].map(leftOut) },
        asEntries,
      };
    },
  );
}

function leftOut(key: string): LeftOut {
  const [tenant = '', name = ''] = key.split('\0');
  return { tenant: tenant as Tenant, name, reason: 'its record in the catalog is damaged' };
}

async function sourcesOf({ store }: ArchiveContext, collections: readonly Collection[]): Promise<ArchivedSource[]> {
  const logs = collections.length === 1 ? { logs: collections.map(logIdOf) } : {};
  const sources = collections.map(
    (collection): ArchivedSource => ({ collection, logId: logIdOf(collection), judgementSets: [] }),
  );
  const byLog = new Map(sources.map((source) => [source.logId, source]));
  for (const { log, set } of await store.shards.request(0, 'loadJudgementSets', logs))
    byLog.get(log)?.judgementSets.push(set);
  return sources;
}

/**
 * Starts an archive process. `wanted` returns what the gate has to be held for. The collection can be replaced or
 * deleted before the gate is acquired: `wanted` then returns another id, and the gate is acquired again for it, or
 * `wanted` throws.
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
  // Requests an empty page: the log workers answer when everything logged so far is on disk. The first call also makes
  // sure that the workers have created their stores.
  const logged = (): Promise<unknown> => queryLog.list(0 as CollectionId, { offset: 0, limit: 0 });
  await logged();
  const hold = async (take: (moment: ArchivedMoment) => Promise<void>): Promise<void> => {
    const held = wanted();
    const isTaken = await shards.gate.exclusive(held, async () => {
      await logged();
      const taken = async (): Promise<boolean> => {
        const moment = await momentNow();
        if (wanted() !== held) return false;
        await take(moment);
        return true;
      };
      return context.commandLog ? context.commandLog.atRest(taken) : taken();
    });
    if (!isTaken) await hold(take);
  };
  return archives.write(
    {
      op: 'write',
      directory: archives.directory,
      shards: shards.size,
      logStores: queryLog.stores,
      hasOthersLogs: queryLog.isShared,
    },
    hold,
    (logId, after) => queryLog.elsewhere(logId, after),
    signal,
  );
}
