// Use cases: stage a collection beside those that have names, give it up, and switch a name to it. Whoever fills one
// does it by `putStaged` of the shards under its id. Called by reindex jobs and by restores; front thread.
import type { CollectionId } from '../contract/ids.js';
import type { StoredJob } from '../contract/reindex.js';
import { logIdOf, type Collection } from '../contract/resources.js';
import type { NewStaged } from '../contract/staged.js';
import { changeCatalog } from './change-catalog.js';
import type { Context } from './context.js';
import { dropFromShards } from './drop-from-shards.js';
import type { Staged } from './staged.js';

export interface SwitchWish {
  expect: CollectionId | null;
  keptUntilMs?: number;
  /** The job that ends with it. */
  job?: StoredJob;
}

/**
 * Nobody finds it, and until it is switched to it goes by being given up, or by a restart that finds no owner of it.
 */
export function stageCollection(context: Context, wanted: NewStaged): Promise<Staged> {
  return changeCatalog(context, 'stageCollection', { staged: wanted }, (record) => context.staged.put(record));
}

/** Its documents go in the background. */
export async function giveUpStaged(context: Context, id: CollectionId): Promise<void> {
  await changeCatalog(context, 'unstageCollection', { staged: id }, () => forgetStaged(context, id));
}

/**
 * Gives the name to a staged collection: whoever looks the name up finds the old space or the new one. What had the
 * name stays as it is, and searches that began with it end with it; it goes at `keptUntilMs`, and not before these have
 * had their time. Throws 503 `collection_changed` where the name does not stand for `expect`.
 */
export async function switchCollection(
  context: Context,
  id: CollectionId,
  { expect, keptUntilMs = 0, job }: SwitchWish,
): Promise<Collection> {
  const { catalog, staged, reindexJobs, events, nowMs } = context;
  const request = { id, expect, nowIso: new Date(nowMs()).toISOString(), keptUntilMs, ...(job && { job }) };
  const { live, dropped } = await changeCatalog(
    context,
    'switchCollection',
    request,
    ({ collection, previous, dropped }) => {
      staged.remove(id);
      if (previous) {
        staged.put(previous);
        catalog.remove(previous.collection);
      }
      if (job) reindexJobs.put(job);
      return { live: catalog.put(collection), dropped };
    },
  );
  const { tenant, name, vector_space_key } = live;
  events.publish(logIdOf(live), 'collection', { change: 'switched', tenant, collection: name, vector_space_key });
  await Promise.all(dropped.map((other) => forgetStaged(context, other.id)));
  return live;
}

/**
 * One that is out of the stored catalog goes out of memory, here and in the shards; its log too, where nobody goes on
 * with it. Never rejects.
 */
export async function forgetStaged(context: Context, id: CollectionId): Promise<void> {
  const { catalog, staged, queryLog } = context;
  const gone = staged.find(id);
  staged.remove(id);
  const logId = gone && logIdOf(gone.collection);
  const isKept = [...staged.all()].some(({ collection }) => logIdOf(collection) === logId);
  if (logId !== undefined && !isKept && !catalog.findByLog(logId)) queryLog.forget(logId);
  await dropFromShards(context, id);
}
