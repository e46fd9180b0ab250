// Changes of the catalog. The owner of shard 0 commits each change; as an event it is then applied to the catalog in
// memory, in the order of the commits; then follows what else it brings, such as drops in the shards. Shadow
// collections are created, dropped and switched in here; their documents are stored by the shard command `putShadow`
// under the id of the shadow collection. Runs on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from '../../api/collections.js';
import { AppError, type ErrorCode } from '../../api/errors.js';
import type { CollectionId } from '../../api/ids.js';
import type { Log } from '../../base/log.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import {
  type CatalogCommands,
  type CollectionKey,
  type NewShadow,
  type StoredCollection,
  type StoredJob,
  logIdOf,
} from '../../storage/catalog-commands.js';
import type { EventHub } from '../events/event-hub.js';
import type { Catalog } from './catalog.js';
import { type Applied, type CatalogEvent, type CatalogOp, type CatalogState, goesWith } from './catalog-state.js';
import type { Shadow, ShadowCollections } from './shadow-collections.js';

export interface CatalogContext {
  /** The state that `catalog` and `shadows` are part of. */
  readonly state: Pick<CatalogState, 'apply'>;
  readonly catalog: Catalog;
  readonly shadows: ShadowCollections;
  readonly shards: Pick<ShardPool, 'request' | 'requestAll' | 'requestOf' | 'size' | 'openCount' | 'gate'>;
  readonly events: Pick<EventHub, 'publish'>;
  readonly lifecycle: Lifecycle;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Ids that were dropped while a shard could not be told; the shard is told when it opens. */
  readonly toDrop: Set<CollectionId>;
}

type Forgotten = CollectionKey & Pick<StoredCollection, 'log_id'>;

/** Callbacks by which other features learn that something has left the catalog. */
export interface Lifecycle {
  /** Called when a collection is deleted, before the shards are told. */
  collectionDeleted(collection: Forgotten): void;
  /** Called when no collection uses the query log with this id any more. */
  logAbandoned(logId: CollectionId): void;
  /** Called when the data that the shards hold under this id belongs to no collection any more. */
  idDropped(id: CollectionId): void;
  /** Ends the waiting reindex jobs of a collection, if the collection is gone. Never rejects. */
  endJobs(logId: CollectionId): Promise<void>;
}

/**
 * Commits a change, applies it in memory, and resolves to the result of `then`, which does what else the change brings.
 * Two commits may be answered in one message, and then the order in which promises resolve depends on the number of
 * awaits. The change is therefore applied, and `then` called, as soon as the answer arrives. Rejects as the request
 * does; in that case nothing is applied.
 */
export async function changeCatalog<O extends CatalogOp, T>(
  { shards, state }: Pick<CatalogContext, 'shards' | 'state'>,
  op: O,
  request: CatalogCommands[O]['request'],
  then: (answer: CatalogCommands[O]['answer'], applied: Applied) => T | Promise<T>,
): Promise<T> {
  let done: T | Promise<T> | undefined;
  const answered = (answer: CatalogCommands[O]['answer']): void => {
    const applied = state.apply({ op, request, answer } as CatalogEvent);
    done = then(answer, applied);
  };
  await shards.request(0, op, request, { answered });
  return done as T;
}

/** 503: another collection, or another vector space of the collection, has the name now. */
export const collectionChanged = (): AppError => new AppError('collection_changed', undefined, { retryAfterS: 1 });

/** What a collection is answered that another may have replaced. */
const REPLACED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['collection_not_found', 'collection_changed']);

/** How long a write waits for the end of a spread, during which none is taken, and how long before it tries again. */
const SPREAD_MS = 5000;
const SPREAD_AGAIN_MS = 500;
const SPREAD_LOOK_MS = 10;

interface Names {
  readonly catalog: Pick<Catalog, 'findByLog'>;
  readonly shadows: Pick<ShadowCollections, 'beside'>;
}

/**
 * Runs a change of a collection, or a write to it, while another may take its name over. What is asked of a collection
 * that is not current any more is rejected; `ask` is then called again with the current one. Rejects with the errors of
 * `ask`, and with `collection_not_found` only if the collection is gone.
 */
export async function asOfNow<T>(
  names: Names,
  collection: Collection,
  ask: (collection: Collection) => Promise<T>,
): Promise<T> {
  const untilMs = performance.now() + SPREAD_MS;
  for (let now = collection; ; ) {
    try {
      return await ask(now);
    } catch (error) {
      if (!(error instanceof AppError) || !REPLACED.has(error.code)) throw error;
      const waits = error.code === 'collection_changed' && isSpreading(names, now) && performance.now() < untilMs;
      if (waits) await spreadElsewhere(names, now);
      const live = names.catalog.findByLog(logIdOf(now));
      if (!live || (live.id === now.id && !waits)) throw error;
      now = live;
    }
  }
}

const isSpreading = ({ shadows }: Names, { id }: Collection): boolean => shadows.beside(id, 'spread').length > 0;

/** Resolves when the node that spreads the collection over other shards has switched it, or after a moment. */
async function spreadElsewhere(names: Names, collection: Collection): Promise<void> {
  const isCurrent = (): boolean => names.catalog.findByLog(logIdOf(collection))?.id === collection.id;
  const untilMs = performance.now() + SPREAD_AGAIN_MS;
  while (isCurrent() && isSpreading(names, collection) && performance.now() < untilMs) await sleep(SPREAD_LOOK_MS);
}

/**
 * Removes a collection that has left the catalog, and the shadow collections that have gone with it, from the shards,
 * and ends what belongs to it. Never rejects.
 */
export async function forgetCollection(
  context: CatalogContext,
  collection: Forgotten,
  { gone }: Pick<Applied, 'gone'>,
): Promise<void> {
  const { lifecycle } = context;
  const beside = gone.filter((shadow) => goesWith(shadow, collection.id));
  lifecycle.logAbandoned(logIdOf(collection));
  lifecycle.collectionDeleted(collection);
  await Promise.all([collection, ...beside].map(({ id }) => dropFromShards(context, id)));
  await lifecycle.endJobs(logIdOf(collection));
}

/**
 * Each shard forgets the id at once, with its damage marks, and deletes the data in the background. A shard that cannot
 * be told now is told when it opens. Never rejects.
 */
async function dropFromShards({ toDrop, lifecycle, shards, log }: CatalogContext, id: CollectionId): Promise<void> {
  lifecycle.idDropped(id);
  const told = shards.requestAll('dropCollection', { collection: id });
  for (const result of await Promise.allSettled(told)) {
    if (result.status === 'fulfilled') continue;
    toDrop.add(id);
    if (!(result.reason instanceof AppError))
      log.error({ reason: String(result.reason) }, 'a shard could not be told to drop a collection');
  }
}

/**
 * Creates a shadow collection. Lookups by name do not find it. Until it is switched in, it is removed by `giveUpShadow`,
 * by a restart that finds no owner of it, or in a cluster by `watchRestores`.
 */
export function createShadow(context: CatalogContext, wanted: Omit<NewShadow, 'created_at'>): Promise<Shadow> {
  const shadow = { ...wanted, created_at: nowIso(context) };
  return changeCatalog(context, 'createShadow', { shadow }, ({ id }) => context.shadows.find(id) as Shadow);
}

/** Drops a shadow collection. The shards delete its documents in the background. */
export async function giveUpShadow(context: CatalogContext, id: CollectionId): Promise<void> {
  await changeCatalog(context, 'dropShadow', { shadow: id }, (_, applied) => forgetShadow(context, id, applied));
}

interface Switch {
  expect: CollectionId | null;
  keptUntilMs?: number;
  /** The job that ends with this switch, and a callback that applies its end in memory. */
  job?: StoredJob;
  ended?: () => void;
}

/**
 * Gives the name to a shadow collection: from then on, lookups return the new vector space. The replaced collection
 * stays until `keptUntilMs`, so that searches that started with it can finish. Throws 503 `collection_changed` if the
 * name does not belong to `expect`.
 */
export async function switchCollection(
  context: CatalogContext,
  id: CollectionId,
  { expect, keptUntilMs = 0, job, ended }: Switch,
): Promise<Collection> {
  const { catalog, events } = context;
  const request = { id, expect, nowIso: nowIso(context), keptUntilMs, ...(job && { job }) };
  const { live, dropped, applied } = await changeCatalog(context, 'switchCollection', request, (switched, changed) => {
    ended?.();
    const current = catalog.findById(switched.collection.id) as Collection;
    return { live: current, dropped: switched.dropped, applied: changed };
  });
  const { tenant, name, vector_space_key } = live;
  events.publish(logIdOf(live), 'collection', { change: 'switched', tenant, collection: name, vector_space_key });
  await Promise.all(dropped.map((other) => forgetShadow(context, other.id, applied)));
  return live;
}

/**
 * Removes a shadow collection that has left the catalog from the shards, and its query log if no other collection uses
 * it. Never rejects.
 */
export async function forgetShadow(
  context: CatalogContext,
  id: CollectionId,
  { gone }: Pick<Applied, 'gone'>,
): Promise<void> {
  const { catalog, shadows, lifecycle } = context;
  const shadow = gone.find((left) => left.id === id);
  const logId = shadow && logIdOf(shadow.collection);
  const isKept = [...shadows.all()].some(({ collection }) => logIdOf(collection) === logId);
  if (logId !== undefined && !isKept && !catalog.findByLog(logId)) lifecycle.logAbandoned(logId);
  await dropFromShards(context, id);
}

/** The current time as an ISO 8601 text. */
export const nowIso = ({ nowMs }: Pick<CatalogContext, 'nowMs'>): string => new Date(nowMs()).toISOString();
