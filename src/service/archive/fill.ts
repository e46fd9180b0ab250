// Fills a shadow collection from an archive. A few batches are in flight at a time, in the order of the archive. At the
// end the counts of documents and chunks must equal those of the archive. Logged searches are held, invisible to
// searches of the log, until the collection has its name. Runs on the main thread.
import type { Collection } from '../../api/collections.js';
import { logIdOf, refOf } from '../../storage/catalog-commands.js';
import { AppError, abandoned } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import { shardAt, spreadOf } from '../../api/placement.js';
import type { VerifiedCollection } from '../../archive/messages.js';
import type { DocumentBatch } from '../../text/prepared-document.js';
import type { OpenedArchive } from '../../pool/archive-pool.js';
import { WorkerError } from '../../base/rpc.js';
import { assertStored } from '../../pool/worker-pool.js';
import type { CatalogContext } from '../collections/catalog-changes.js';
import { countCollection } from '../collections/usage.js';
import { untilIndexedAll } from '../reindex/copy.js';
import type { ArchiveContext } from './archive.js';

export interface Filling {
  opened: OpenedArchive;
  /** The index of the collection in the archive. */
  place: number;
  verified: VerifiedCollection;
  signal: AbortSignal;
}

/**
 * Stores all documents and checks the counts. Throws AppError and WorkerError; the caller must then drop the shadow
 * collection.
 */
export async function fillShadow(
  { store, batchesRestored }: ArchiveContext,
  collection: Collection,
  { opened, place, verified, signal }: Filling,
): Promise<void> {
  const underway = new Set<Promise<void>>();
  for await (const batch of opened.documents(place, spreadOf(collection, store.shards.size))) {
    if (signal.aborted) throw abandoned();
    const putting = put(store, collection, batch);
    // The rejection is handled by the awaits below; this avoids an unhandled rejection if another batch fails first.
    putting.catch(() => undefined);
    underway.add(putting);
    void putting.then(
      () => underway.delete(putting),
      () => undefined,
    );
    if (underway.size >= batchesRestored) await Promise.race(underway);
  }
  await Promise.all(underway);
  await checkCounts(store, collection, verified);
}

/**
 * Waits until the graph of the shadow collection is built, because searches of an unindexed collection scan all rows.
 * If building fails, for example because memory is full, logs a warning and returns: the collection is then searched
 * without a complete graph. Rejects if the request was cancelled.
 */
export async function indexShadow(
  { store }: ArchiveContext,
  collection: Collection,
  signal: AbortSignal,
): Promise<void> {
  const check = (): void => {
    if (signal.aborted) throw abandoned();
  };
  try {
    await untilIndexedAll({ store, shadow: collection, signal, check }, () => undefined);
  } catch (error) {
    check();
    store.log.warn(
      { collection: collection.id, reason: (error as Error).message },
      'the graph of a restored collection could not be completed; it is searched as it is',
    );
  }
}

async function put(
  { shards }: CatalogContext,
  collection: Collection,
  { slot, ...batch }: DocumentBatch,
): Promise<void> {
  const shard = shardAt(collection, slot, shards.size);
  assertStored(await shards.request(shard, 'putShadow', { collection: refOf(collection), ...batch }));
}

async function checkCounts(
  store: CatalogContext,
  collection: Collection,
  { counts }: VerifiedCollection,
): Promise<void> {
  const { documents, chunks } = await countCollection(store, collection);
  if (documents !== counts.documents || chunks !== counts.chunks)
    throw new WorkerError(
      `a restored collection has ${documents} of ${counts.documents} documents and ${chunks} of ${counts.chunks} chunks`,
    );
}

/** Stores the logged searches of the collection at index `place` of the archive as held entries. */
export async function holdQueries(
  { queryLog }: ArchiveContext,
  shadow: CollectionId,
  opened: OpenedArchive,
  place: number,
): Promise<void> {
  for await (const entries of opened.queries(place)) await queryLog.hold(shadow, entries);
}

/**
 * Moves held searches to the query log of their collection, or discards them if the collection has no name in the
 * catalog. Entries whose id is in use by another collection stay with that collection. Never rejects, because the
 * restore itself has succeeded: entries that cannot be released now are released at the next start.
 */
export async function releaseQueries({ store, queryLog }: ArchiveContext, shadow: CollectionId): Promise<void> {
  const { catalog } = store;
  const collection = catalog.findById(shadow);
  const to = collection ? logIdOf(collection) : null;
  await orLogged(store, () => queryLog.release(shadow, to, Uint32Array.from(catalog.all(), logIdOf)));
}

/**
 * Releases the held searches of all collections that are no longer being restored, which completes restores that a
 * crash interrupted. Called once the catalog is loaded. Never rejects.
 */
export async function releaseHeld(context: ArchiveContext): Promise<void> {
  const { store, queryLog } = context;
  const { catalog, shadows } = store;
  // A collection whose record is damaged has a query log too, but its log id is unknown.
  if (!catalog.isWhole) return;
  await orLogged(store, async () => {
    for (const id of await queryLog.held()) if (!shadows.find(id)) await releaseQueries(context, id);
  });
}

/** Logs a failure of `work`, except for the error of a server that is shutting down. */
async function orLogged({ log }: CatalogContext, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError && error.code === 'shutting_down') return;
    log.error(
      { reason: String(error) },
      'logged searches of a restored collection could not be released; this is repeated at the next start',
    );
  }
}
