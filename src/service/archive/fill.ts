// Fills a shadow collection with what an archive has of it. A few batches are under way at a time, in the order of the
// archive; in the end it has as many documents and chunks as the archive says, or there is an error. Logged searches
// are held, where no search sees them, until the collection has its name. Front thread.
import type { Collection } from '../../api/collections.js';
import { logIdOf, refOf } from '../../storage/catalog-commands.js';
import { AppError, abandoned } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { DocumentBatch, VerifiedCollection } from '../../archive/messages.js';
import type { OpenedArchive } from '../../pool/archive-pool.js';
import { WorkerFault, assertStored } from '../../pool/worker-pool.js';
import type { CatalogContext } from '../collections/catalog-changes.js';
import { countCollection } from '../collections/usage.js';
import { untilLinked } from '../reindex/copy.js';
import type { ArchiveContext } from './archive.js';

const BATCHES_UNDERWAY_MAX = 4;

export interface Filling {
  opened: OpenedArchive;
  /** Of the collection in the archive. */
  place: number;
  verified: VerifiedCollection;
  signal: AbortSignal;
}

/** Throws AppError and WorkerFault: then the staged collection is to be given up. */
export async function fillStaged(
  { store }: ArchiveContext,
  collection: Collection,
  { opened, place, verified, signal }: Filling,
): Promise<void> {
  const underway = new Set<Promise<void>>();
  for await (const batch of opened.documents(place)) {
    if (signal.aborted) throw abandoned();
    const putting = put(store, collection, batch);
    // It is looked at below, be it that another one fails first.
    putting.catch(() => undefined);
    underway.add(putting);
    void putting.then(
      () => underway.delete(putting),
      () => undefined,
    );
    if (underway.size >= BATCHES_UNDERWAY_MAX) await Promise.race(underway);
  }
  await Promise.all(underway);
  await checkCounts(store, collection, verified);
}

/**
 * Waits for its graph, before it takes the place of one that is searched: searches of it would scan. Where that fails,
 * as where memory is full, it is searched as it is. Rejects where nobody waits for the restore any more.
 */
export async function linkStaged(
  { store }: ArchiveContext,
  collection: Collection,
  signal: AbortSignal,
): Promise<void> {
  const check = (): void => {
    if (signal.aborted) throw abandoned();
  };
  try {
    await untilLinked({ store, twin: collection, signal, check }, () => undefined);
  } catch (error) {
    check();
    store.log.warn(
      { collection: collection.id, reason: (error as Error).message },
      'the graph of a restored collection is not waited for',
    );
  }
}

async function put(
  { shards }: CatalogContext,
  collection: Collection,
  { shard, ...batch }: DocumentBatch,
): Promise<void> {
  assertStored(await shards.ask(shard, 'putStaged', { collection: refOf(collection), ...batch }));
}

async function checkCounts(
  store: CatalogContext,
  collection: Collection,
  { counts }: VerifiedCollection,
): Promise<void> {
  const { documents, chunks } = await countCollection(store, collection);
  if (documents !== counts.documents || chunks !== counts.chunks)
    throw new WorkerFault(
      `a restored collection has ${documents} of ${counts.documents} documents and ${chunks} of ${counts.chunks} chunks`,
    );
}

/** Holds the logged searches of the collection at `place` of the archive. */
export async function holdQueries(
  { queryLog }: ArchiveContext,
  staged: CollectionId,
  opened: OpenedArchive,
  place: number,
): Promise<void> {
  for await (const entries of opened.queries(place)) await queryLog.hold(staged, entries);
}

/**
 * Releases held searches to the log of their collection; they go away where the collection has no name. An id that
 * another collection has by now is left to that. Never rejects, for the restore has been done: what could not be
 * released now is at the next start.
 */
export async function releaseQueries({ store, queryLog }: ArchiveContext, staged: CollectionId): Promise<void> {
  const { catalog } = store;
  const collection = catalog.findById(staged);
  const to = collection ? logIdOf(collection) : null;
  await orLogged(store, () => queryLog.release(staged, to, Uint32Array.from(catalog.all(), logIdOf)));
}

/**
 * Releases those of all collections that nobody restores any more: what a crash has interrupted goes on when the
 * catalog is open again. Never rejects.
 */
export async function releaseHeld(context: ArchiveContext): Promise<void> {
  const { store, queryLog } = context;
  const { catalog, shadows } = store;
  // A collection whose record is damaged has a log all the same.
  if (!catalog.isWhole) return;
  await orLogged(store, async () => {
    for (const id of await queryLog.held()) if (!shadows.find(id)) await releaseQueries(context, id);
  });
}

/** A server that stops needs no telling. */
async function orLogged({ log }: CatalogContext, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError && error.code === 'shutting_down') return;
    log.error({ reason: String(error) }, 'logged searches of a restored collection are released at the next start');
  }
}
