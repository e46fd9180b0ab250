// Use cases: stage a collection beside those that have names, give it up, and switch a name to it. Whoever fills one
// does it by `putStaged` of the shards under its id. Called by reindex jobs and by restores; front thread.
import type { Collection } from '../../api/collections.js';
import { logIdOf, type NewStaged, type StoredJob } from '../../storage/catalog-commands.js';
import { AppError } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { ShardAnswer, ShardCommands, ShardOp } from '../../engine/write/commands.js';
import type { Context } from '../context.js';
import type { Staged } from './shadow-collections.js';

// A change of the catalog: the worker of shard 0 commits it, then it is shown here. Two that are committed one after
// the other may be answered in one message, and whoever awaits one promise more than another would show the older state
// last; so each is shown as its answer comes, in the order of the commits. Used by the use cases that change
// collections, what is staged beside them, tenants and keys; front thread.

/** Answers what `show` does, which has shown it by its first wait. Rejects as the ask does, with nothing shown. */
export async function changeCatalog<O extends ShardOp, T>(
  { shards }: Pick<Context, 'shards'>,
  op: O,
  request: ShardCommands[O]['request'],
  show: (answer: ShardAnswer<O>) => T | Promise<T>,
): Promise<T> {
  let shown: T | Promise<T> | undefined;
  await shards.ask(0, op, request, (answer) => void (shown = show(answer)));
  return shown as T;
}

// Tells all shards that an id is nobody's any more. Called where a collection, or what was staged beside one, is out of
// the stored catalog; front thread.

/**
 * The shards forget an id at once, with what is damaged of it, and remove what it has in the background; one that is
 * away does when it opens. Never rejects.
 */
export async function dropFromShards(
  { catalog, quarantine, fanOut, shards, log }: Context,
  id: CollectionId,
): Promise<void> {
  quarantine.forget(id);
  fanOut.forget(id);
  const told = shards.askAll('dropCollection', { collection: id });
  for (const result of await Promise.allSettled(told)) {
    if (result.status === 'fulfilled') continue;
    catalog.toDrop.add(id);
    if (!(result.reason instanceof AppError))
      log.error({ reason: String(result.reason) }, 'a shard could not be told of a dropped collection');
  }
}

interface SwitchWish {
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

// A change of the catalog for a collection that may be switched to another space while it is asked for: the store
// refuses what it is not any more, and then it is asked again for what the collection is by then. Called by the use
// cases that rename, relabel and delete; front thread.

/** Rejects with what `ask` rejects with, and with `collection_not_found` only where the collection is gone. */
export async function asOfNow<T>(
  { catalog }: Pick<Context, 'catalog'>,
  collection: Collection,
  ask: (collection: Collection) => Promise<T>,
): Promise<T> {
  for (let now = collection; ; ) {
    try {
      return await ask(now);
    } catch (error) {
      const live = catalog.findByLog(logIdOf(now));
      if (!(error instanceof AppError) || error.code !== 'collection_not_found' || !live || live.id === now.id)
        throw error;
      now = live;
    }
  }
}
