// Staged collections in the catalog's environment. A switch is one transaction: the name stands for the old space or
// for the new one, whatever ends the process meanwhile. Owned by the worker of shard 0; what a staged id holds in the
// shards is not its concern.
import { AppError } from '../contract/errors.js';
import type { CollectionId } from '../contract/ids.js';
import { logIdOf, type StoredCollection } from '../contract/resources.js';
import type { NewStaged, StagedRecord, Switched, SwitchRequest } from '../contract/staged.js';
import { decodeCollection, decodeStaged, encodeCatalogRecord as encode, type CatalogTable } from './catalog-records.js';
import { allStaged, besides, putStaged, removeStaged, stageIn } from './catalog-tables.js';
import { putJob } from './job-store.js';
import { catalogKey, collectionPrefix } from './keys.js';
import type { Environment } from './lmdb.js';

export class StagedStore {
  constructor(private readonly env: Environment<CatalogTable>) {}

  all(): StagedRecord[] {
    return this.env.read(({ staged }) => allStaged(staged));
  }

  stage(wanted: NewStaged): StagedRecord {
    return this.env.write((tables) => stageIn(tables, wanted));
  }

  /** Nothing where it is gone already. */
  unstage(id: CollectionId): void {
    this.env.write(({ staged }) => void removeStaged(staged, id));
  }

  /** Throws `collection_changed` where the name stands for another collection than `expect`, or `id` is not staged. */
  switchTo({ id, expect, nowIso, keptUntilMs, job }: SwitchRequest): Switched {
    return this.env.write((tables) => {
      const { collections, staged } = tables;
      const bytes = staged.get(collectionPrefix(id));
      if (!bytes) throw new AppError('collection_changed');
      const record = decodeStaged(bytes);
      const key = catalogKey(record.collection.tenant, record.collection.name);
      const found = collections.get(key);
      const live = found && decodeCollection(found);
      if ((live?.id ?? null) !== expect) throw new AppError('collection_changed');
      const dropped = live ? besides(staged, new Set([live.id])).filter((other) => other.id !== id) : [];
      for (const other of [record, ...dropped]) removeStaged(staged, other.id);
      const collection = switched(record, live);
      collections.put(key, encode(collection));
      const previous = live ? previousOf(live, id, nowIso, keptUntilMs) : null;
      if (previous) putStaged(staged, previous);
      if (job) putJob(tables, job);
      return { collection, previous, dropped };
    });
  }
}

/**
 * What is restored comes with its own settings; another space of the same documents takes those of today, and goes on
 * with the log.
 */
function switched({ purpose, collection }: StagedRecord, live: StoredCollection | undefined): StoredCollection {
  if (purpose === 'restore' || !live) return collection;
  const { id, generation, embedder_type, embed_model, embedder_config, vector_space_key, dim } = collection;
  return {
    ...live,
    id,
    generation,
    embedder_type,
    embed_model,
    embedder_config,
    vector_space_key,
    dim,
    log_id: logIdOf(live),
  };
}

function previousOf(live: StoredCollection, replaces: CollectionId, nowIso: string, keptUntilMs: number): StagedRecord {
  return {
    id: live.id,
    purpose: 'previous',
    collection: live,
    replaces,
    created_at: nowIso,
    kept_until_ms: keptUntilMs,
  };
}
