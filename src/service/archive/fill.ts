// Fills a staged collection with what an archive has of it. A few batches are under way at a time, in the order of the
// archive; in the end it has as many documents and chunks as the archive says, or there is an error. Called by the
// restore use cases; front thread.
import type { DocumentBatch, VerifiedCollection } from '../contract/archive-messages.js';
import type { Collection } from '../contract/resources.js';
import type { OpenedArchive } from '../pool/archive-pool.js';
import { abandoned } from '../contract/errors.js';
import { assertStored, WorkerFault } from '../pool/outcomes.js';
import { refOf } from './catalog.js';
import type { Context } from './context.js';
import { countCollection } from './count-collections.js';
import { untilLinked } from './reindex/until-linked.js';

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
  context: Context,
  collection: Collection,
  { opened, place, verified, signal }: Filling,
): Promise<void> {
  const underway = new Set<Promise<void>>();
  for await (const batch of opened.documents(place)) {
    if (signal.aborted) throw abandoned();
    const putting = put(context, collection, batch);
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
  await checkCounts(context, collection, verified);
}

/**
 * Waits for its graph, before it takes the place of one that is searched: searches of it would scan. Where that fails,
 * as where memory is full, it is searched as it is. Rejects where nobody waits for the restore any more.
 */
export async function linkStaged(context: Context, collection: Collection, signal: AbortSignal): Promise<void> {
  const check = (): void => {
    if (signal.aborted) throw abandoned();
  };
  try {
    await untilLinked({ context, twin: collection, signal, check }, () => undefined);
  } catch (error) {
    check();
    context.log.warn(
      { collection: collection.id, reason: (error as Error).message },
      'the graph of a restored collection is not waited for',
    );
  }
}

async function put({ shards }: Context, collection: Collection, { shard, ...batch }: DocumentBatch): Promise<void> {
  assertStored(await shards.ask(shard, 'putStaged', { collection: refOf(collection), ...batch }));
}

async function checkCounts(context: Context, collection: Collection, { counts }: VerifiedCollection): Promise<void> {
  const { documents, chunks } = await countCollection(context, collection);
  if (documents !== counts.documents || chunks !== counts.chunks)
    throw new WorkerFault(
      `a restored collection has ${documents} of ${counts.documents} documents and ${chunks} of ${counts.chunks} chunks`,
    );
}
