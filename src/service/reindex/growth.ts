// Spreads collections that have outgrown their shards over more of them, by jobs that start by themselves: one at a time
// on the server. Collections from before spreads are in all shards already. Runs on the main thread.
import { AppError } from '../../api/errors.js';
import type { Collection } from '../../api/collections.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import { spreadFor } from '../collections/settings.js';
import { countCollection } from '../collections/usage.js';
import type { ReindexContext } from './jobs.js';
import { startJob } from './reindex.js';

/** A job that has failed or was cancelled is not started again for this long. */
const AGAIN_MS = 3_600_000;

/** Starts to look at the collections that were written. Call it when all shards are open. */
export function watchGrowth(context: ReindexContext): void {
  const { jobs, store, growth } = context;
  let isLooking = false;
  jobs.every(growth.everyMs, () => {
    if (isLooking) return;
    isLooking = true;
    grow(context)
      .catch((error: unknown) =>
        store.log.warn({ reason: String(error) }, 'the sizes of collections could not be read'),
      )
      .finally(() => (isLooking = false));
  });
}

/** Looks at the collections that were written since the last look, until a job is started. */
async function grow(context: ReindexContext): Promise<void> {
  const { jobs, store, written } = context;
  for (const id of [...written.collections]) {
    if ([...jobs.live()].some(({ partitions, status }) => partitions !== undefined && status !== 'paused')) return;
    written.collections.delete(id);
    const collection = store.catalog.findById(id);
    const partitions = collection && (await neededSpread(context, collection));
    if (!collection || partitions === undefined) continue;
    if (isBlocked(context, collection)) written.collections.add(id);
    else await start(context, collection, partitions);
  }
}

/** Returns undefined if the collection has all the shards it needs. */
async function neededSpread(
  { store, growth: { chunksPerPartition } }: ReindexContext,
  collection: Collection,
): Promise<number | undefined> {
  const { spread } = collection;
  const shards = store.shards.size;
  if (chunksPerPartition === 0 || spread === undefined || spread >= shards) return undefined;
  const { chunks } = await countCollection(store, collection);
  const needed = spreadFor(chunks, { partitions: spread, chunksPerPartition, shards });
  return needed > spread ? needed : undefined;
}

/** While a job works on the collection, another vector space is kept, or a job has ended without success. */
function isBlocked({ jobs, store }: ReindexContext, collection: Collection): boolean {
  const { shadows, nowMs } = store;
  const isRecent = (time: string | null): boolean => time === null || nowMs() - Date.parse(time) < AGAIN_MS;
  const isHeldUp = jobs
    .ofCollection(logIdOf(collection))
    .some(
      ({ status, partitions, finished_at: at }) =>
        status !== 'succeeded' && (partitions === undefined ? at === null : isRecent(at)),
    );
  return isHeldUp || shadows.dualWriteTargets(collection.id, nowMs()).length > 0;
}

async function start(context: ReindexContext, { tenant, name }: Collection, partitions: number): Promise<void> {
  const { log } = context.store;
  try {
    const { job_id: job } = await startJob(context, { tenant, name, body: { partitions } });
    log.info({ tenant, collection: name, partitions, job }, 'a collection is spread over more shards');
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    log.warn({ tenant, collection: name, reason: error.message }, 'a collection could not be spread over more shards');
  }
}
