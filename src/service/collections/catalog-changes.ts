// Changes of the catalog: the owner of shard 0 commits each one, then it is shown in the memory of the front thread, in
// the order of the commits. Shadow collections are made and switched to here; whoever fills one does it by `putStaged`
// of the shards under its id. Front thread.
import type { Collection } from '../../api/collections.js';
import { AppError } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { Log } from '../../base/log.js';
import type { ShardAnswer, ShardCommands, ShardOp } from '../../engine/write/commands.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import {
  type CollectionKey,
  type NewStaged,
  type StoredCollection,
  type StoredJob,
  logIdOf,
} from '../../storage/catalog-commands.js';
import type { EventHub } from '../events/event-hub.js';
import type { Catalog } from './catalog.js';
import type { ShadowCollections, Staged } from './shadow-collections.js';

export interface CatalogContext {
  readonly catalog: Catalog;
  readonly shadows: ShadowCollections;
  readonly shards: Pick<ShardPool, 'ask' | 'askAll' | 'size' | 'openCount' | 'gate'>;
  readonly events: Pick<EventHub, 'publish'>;
  readonly lifecycle: Lifecycle;
  readonly log: Log;
  readonly nowMs: () => number;
}

type Forgotten = CollectionKey & Pick<StoredCollection, 'log_id'>;

/** What other features do when something leaves the catalog. */
export interface Lifecycle {
  /** A collection is deleted; the shards have not been told yet. */
  collectionDeleted(collection: Forgotten): void;
  /** No collection goes on with the query log of this id. */
  logAbandoned(logId: CollectionId): void;
  /** What the shards have under this id belongs to no collection any more. */
  idDropped(id: CollectionId): void;
  /** Ends the reindex jobs of a collection that wait, and of which nothing is left. Never rejects. */
  endJobs(logId: CollectionId): Promise<void>;
}

/**
 * Answers what `show` does. Two changes that are committed one after the other may be answered in one message, and
 * whoever awaits one promise more than another would show the older state last: so `show` is called as the answer comes,
 * and has shown the change by its first wait. Rejects as the ask does, with nothing shown.
 */
export async function changeCatalog<O extends ShardOp, T>(
  { shards }: Pick<CatalogContext, 'shards'>,
  op: O,
  request: ShardCommands[O]['request'],
  show: (answer: ShardAnswer<O>) => T | Promise<T>,
): Promise<T> {
  let shown: T | Promise<T> | undefined;
  await shards.ask(0, op, request, (answer) => void (shown = show(answer)));
  return shown as T;
}

/** 503: another collection has the name by now, or another space of the same. */
export const collectionChanged = (): AppError => new AppError('collection_changed', undefined, { retryAfterS: 1 });

/**
 * A change for a collection that may be switched to another space while it is asked for: the store refuses what it is
 * not any more, and then `ask` is called for what the collection is by then. Rejects with what `ask` rejects with, and
 * with `collection_not_found` only where the collection is gone.
 */
export async function asOfNow<T>(
  { catalog }: Pick<CatalogContext, 'catalog'>,
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

/**
 * Takes a collection that is out of the stored catalog out of memory, here at once and then in the shards, with its
 * shadows. Never rejects.
 */
export async function forgetCollection(context: CatalogContext, collection: Forgotten): Promise<void> {
  const { catalog, shadows, lifecycle } = context;
  const besides = shadows.beside(collection.id).filter(({ purpose }) => purpose !== 'restore');
  for (const { id } of besides) shadows.remove(id);
  catalog.remove(collection);
  lifecycle.logAbandoned(logIdOf(collection));
  lifecycle.collectionDeleted(collection);
  await Promise.all([collection, ...besides].map(({ id }) => dropFromShards(context, id)));
  await lifecycle.endJobs(logIdOf(collection));
}

/**
 * The shards forget an id at once, with what is damaged of it, and remove what it has in the background; one that is
 * away does when it opens. Never rejects.
 */
async function dropFromShards({ catalog, lifecycle, shards, log }: CatalogContext, id: CollectionId): Promise<void> {
  lifecycle.idDropped(id);
  const told = shards.askAll('dropCollection', { collection: id });
  for (const result of await Promise.allSettled(told)) {
    if (result.status === 'fulfilled') continue;
    catalog.toDrop.add(id);
    if (!(result.reason instanceof AppError))
      log.error({ reason: String(result.reason) }, 'a shard could not be told of a dropped collection');
  }
}

/**
 * Nobody finds it, and until it is switched to it goes by being given up, or by a restart that finds no owner of it.
 */
export function stageCollection(context: CatalogContext, wanted: Omit<NewStaged, 'created_at'>): Promise<Staged> {
  const staged = { ...wanted, created_at: nowIso(context) };
  return changeCatalog(context, 'stageCollection', { staged }, (record) => context.shadows.put(record));
}

/** Its documents go in the background. */
export async function giveUpStaged(context: CatalogContext, id: CollectionId): Promise<void> {
  await changeCatalog(context, 'unstageCollection', { staged: id }, () => forgetStaged(context, id));
}

interface Switch {
  expect: CollectionId | null;
  keptUntilMs?: number;
  /** The job that ends with it, and what shows its end. */
  job?: StoredJob;
  ended?: () => void;
}

/**
 * Gives the name to a shadow collection: whoever looks the name up finds the old space or the new one. What had the name
 * stays as it is, and searches that began with it end with it; it goes at `keptUntilMs`, and not before these have had
 * their time. Throws 503 `collection_changed` where the name does not stand for `expect`.
 */
export async function switchCollection(
  context: CatalogContext,
  id: CollectionId,
  { expect, keptUntilMs = 0, job, ended }: Switch,
): Promise<Collection> {
  const { catalog, shadows, events } = context;
  const request = { id, expect, nowIso: nowIso(context), keptUntilMs, ...(job && { job }) };
  const { live, dropped } = await changeCatalog(
    context,
    'switchCollection',
    request,
    ({ collection, previous, dropped: gone }) => {
      shadows.remove(id);
      if (previous) {
        shadows.put(previous);
        catalog.remove(previous.collection);
      }
      ended?.();
      return { live: catalog.put(collection), dropped: gone };
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
export async function forgetStaged(context: CatalogContext, id: CollectionId): Promise<void> {
  const { catalog, shadows, lifecycle } = context;
  const gone = shadows.find(id);
  shadows.remove(id);
  const logId = gone && logIdOf(gone.collection);
  const isKept = [...shadows.all()].some(({ collection }) => logIdOf(collection) === logId);
  if (logId !== undefined && !isKept && !catalog.findByLog(logId)) lifecycle.logAbandoned(logId);
  await dropFromShards(context, id);
}

/** The time of a record. */
export const nowIso = ({ nowMs }: Pick<CatalogContext, 'nowMs'>): string => new Date(nowMs()).toISOString();
