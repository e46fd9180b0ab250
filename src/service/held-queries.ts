// The logged searches of an archive: held, where no search sees them, while their collection is staged, and released to
// its log once it has the name. What a crash interrupts goes on when the catalog is open again. Called by the restore
// use cases and by open-shard.ts; front thread.
import { AppError } from '../contract/errors.js';
import type { CollectionId } from '../contract/ids.js';
import { logIdOf } from '../contract/resources.js';
import type { OpenedArchive } from '../pool/archive-pool.js';
import type { Context } from './context.js';

/** Those of the collection at `place` of the archive. */
export async function holdQueries(
  { queryLog }: Context,
  staged: CollectionId,
  opened: OpenedArchive,
  place: number,
): Promise<void> {
  for await (const entries of opened.queries(place)) await queryLog.ask('hold', { staged, entries });
}

/**
 * They go away where the collection has no name. An id that another collection has by now is left to that. Never
 * rejects, for the restore has been done: what could not be released now is at the next start.
 */
export async function releaseQueries(context: Context, staged: CollectionId): Promise<void> {
  const { catalog, queryLog } = context;
  const collection = catalog.findById(staged);
  const release = {
    staged,
    to: collection ? logIdOf(collection) : null,
    live: Uint32Array.from(catalog.all(), logIdOf),
  };
  await orTold(context, async () => {
    while ((await queryLog.ask('release', release)) > 0);
  });
}

/** Of all collections that nobody restores any more. Never rejects. */
export async function releaseHeld(context: Context): Promise<void> {
  const { catalog, staged, queryLog } = context;
  // A collection whose record is damaged has a log all the same.
  if (!catalog.isWhole) return;
  await orTold(context, async () => {
    for (const id of await queryLog.ask('held', {})) if (!staged.find(id)) await releaseQueries(context, id);
  });
}

/** A server that stops needs no telling. */
async function orTold({ log }: Context, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError && error.code === 'shutting_down') return;
    log.error({ reason: String(error) }, 'logged searches of a restored collection are released at the next start');
  }
}
