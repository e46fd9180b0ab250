// The catalog in LMDB: every collection of every tenant, the counter of collection ids, shadow collections, reindex
// jobs, tenants and access keys. Used by the owner of shard 0 only; other threads work on copies in memory.
import {
  type CollectionChange,
  type CollectionKey,
  type JobChange,
  logIdOf,
  spaceIn,
  type NewShadow,
  type PackedRecords,
  type ReplacedDataset,
  type ShadowRecord,
  type StoredCollection,
  type StoredJob,
  type Switched,
  type SwitchRequest,
} from './catalog-commands.js';
import { AppError } from '../api/errors.js';
import type { AliasRecord } from '../api/aliases.js';
import type { CollectionId, CollectionName, Tenant } from '../api/ids.js';
import type { JudgementSet, JudgementSetSummary } from '../api/judgements.js';
import { ALIASES_MAX, JUDGEMENT_SETS_MAX } from '../api/limits.js';
import { placementIn } from '../api/placement.js';
import type { StoredTenants } from '../api/tenants.js';
import type { StoreMeter } from '../base/meters.js';
import { CatalogEnvironment } from './catalog-environment.js';
import {
  CATALOG_TABLES,
  type CatalogTables,
  allShadows,
  besides,
  decodeAlias,
  decodeCollection as decode,
  decodeCollection,
  decodeCollections,
  decodeJudgementSet,
  decodeJob,
  decodeShadow,
  encodeCatalogRecord as encode,
  nextId,
  present,
  putShadow,
  removeJudgements,
  removeShadow,
  stageIn,
} from './catalog-records.js';
import {
  accessKeyKey,
  catalogKey,
  collectionOfKey,
  collectionPrefix,
  judgementsKey,
  settingKey,
  tenantKey,
  tenantPrefix,
} from './keys.js';
import {
  type AppliedLog,
  type Journal,
  type JournalOptions,
  type JournalRecord,
  type LogPosition,
  readRecords,
} from './journal.js';
import { Environment } from './lmdb.js';
import { ALL, removeAll, wholeValues } from './table.js';
import { TenantStore } from './tenants.js';

interface StoreOptions {
  meter?: StoreMeter;
  /** Without it the catalog keeps no journal. */
  journal?: JournalOptions | undefined;
}

/**
 * Reindex jobs, one record each. A job and its shadow collection change in one transaction where they belong together.
 */
class JobStore {
  constructor(private readonly env: CatalogEnvironment) {}

  /**
   * All jobs in the order of their ids, which is the order in which they began. A job with a damaged record is left
   * out; its shadow collection is given up elsewhere.
   */
  all(): StoredJob[] {
    return this.env.read(({ jobs }) => Array.from(wholeValues(jobs), decodeJob));
  }

  /** Creates a job and its shadow collection in one transaction. */
  create({ job, ...others }: JobChange, shadow: NewShadow): { job: StoredJob; shadow: ShadowRecord } {
    return this.env.write((tables) => {
      const record = stageIn(tables, shadow);
      const made = { ...job, staged_id: record.id };
      change(tables, { job: made, ...others });
      return { job: made, shadow: record };
    });
  }

  save(changed: JobChange): void {
    this.env.write((tables) => change(tables, changed));
  }
}

/** Writes a job inside a larger transaction. */
const putJob = ({ jobs }: CatalogTables, job: StoredJob): void => jobs.put(jobKey(job.job_id), encode(job));

const jobKey = settingKey;

function change(tables: CatalogTables, { job, dropShadow = [], forget = [] }: JobChange): void {
  putJob(tables, job);
  for (const id of dropShadow) removeShadow(tables.staged, id);
  for (const id of forget) tables.jobs.delete(jobKey(id));
}

/** Aliases, by tenant and alias. An alias has the name of its collection, and is renamed with it. */
class AliasStore {
  constructor(private readonly env: CatalogEnvironment) {}

  all(): AliasRecord[] {
    return this.env.read(({ aliases }) => Array.from(wholeValues(aliases), decodeAlias));
  }

  put(record: AliasRecord): void {
    this.env.write(({ aliases, collections }) => {
      const { tenant, alias, collection } = record;
      const key = catalogKey(tenant, alias);
      if (!collections.has(catalogKey(tenant, collection))) throw new AppError('collection_not_found');
      if (collections.has(key)) throw new AppError('alias_conflict');
      if (!aliases.has(key) && countOf(aliases.keys(tenantPrefix(tenant))) >= ALIASES_MAX)
        throw new AppError('alias_limit_reached');
      aliases.put(key, encode(record));
    });
  }

  delete(tenant: Tenant, alias: CollectionName): void {
    this.env.write(({ aliases }) => {
      const key = catalogKey(tenant, alias);
      if (!aliases.has(key)) throw new AppError('alias_not_found');
      aliases.delete(key);
    });
  }
}

/**
 * Judgement sets, by the log id of their collection, which stays when the collection is renamed or gets another vector
 * space, and by name.
 */
class JudgementStore {
  constructor(private readonly env: CatalogEnvironment) {}

  /** The sets of the collections with these log ids; without them, of all collections. */
  all(logs?: readonly CollectionId[]): { log: CollectionId; set: JudgementSet }[] {
    const ranges = logs?.map(collectionPrefix) ?? [ALL];
    return this.env.read(({ judgements }) =>
      ranges.flatMap((range) =>
        Array.from(judgements.entries(range), ({ key, value }) => ({
          log: collectionOfKey(key),
          set: decodeJudgementSet(value),
        })),
      ),
    );
  }

  list(log: CollectionId): JudgementSetSummary[] {
    return this.env.read(({ judgements }) =>
      Array.from(judgements.entries(collectionPrefix(log)), ({ value }) => summaryOf(decodeJudgementSet(value))),
    );
  }

  get(log: CollectionId, set: string): JudgementSet {
    const bytes = this.env.read(({ judgements }) => judgements.get(judgementsKey(log, set)));
    if (!bytes) throw new AppError('judgement_set_not_found');
    return decodeJudgementSet(bytes);
  }

  put(collection: CollectionKey, set: JudgementSet): void {
    this.env.write(({ collections, judgements }) => {
      const log = logIdOf(present(collections, collection));
      const key = judgementsKey(log, set.set);
      if (!judgements.has(key) && countOf(judgements.keys(collectionPrefix(log))) >= JUDGEMENT_SETS_MAX)
        throw new AppError('judgement_set_limit_reached');
      judgements.put(key, encode(set));
    });
  }

  delete(log: CollectionId, set: string): void {
    this.env.write(({ judgements }) => {
      if (!judgements.has(judgementsKey(log, set))) throw new AppError('judgement_set_not_found');
      judgements.delete(judgementsKey(log, set));
    });
  }
}

const summaryOf = ({ queries: _, ...summary }: JudgementSet): JudgementSetSummary => summary;

/** The aliases of a collection. */
function aliasesOf(
  { aliases }: CatalogTables,
  { tenant, name }: Pick<CollectionKey, 'tenant' | 'name'>,
): AliasRecord[] {
  if (countOf(aliases.keys(tenantPrefix(tenant))) === 0) return [];
  const all = Array.from(aliases.entries(tenantPrefix(tenant)), ({ value }) => decodeAlias(value));
  return all.filter(({ collection }) => collection === name);
}

/**
 * Replaces the whole catalog when a dataset is restored. It does so in one transaction, so that after a crash there is
 * either the old dataset or the new one.
 */
class DatasetStore {
  constructor(private readonly env: CatalogEnvironment) {}

  /**
   * Gives the shadow collections `wanted` their names and removes everything else, tenants and access keys included. The
   * aliases are replaced too, if any are given; those without a collection go.
   * Throws AppError `collection_changed` if one of them does not exist.
   */
  replace(
    wanted: readonly CollectionId[],
    { tenants, keys }: StoredTenants,
    aliases?: readonly AliasRecord[],
  ): ReplacedDataset {
    return this.env.write((tables) => {
      // Damaged records are removed too: a restore is a way to repair them.
      const gone = Array.from(wholeValues(tables.collections), decodeCollection);
      const shadow = allShadows(tables.staged);
      const isWanted = new Set(wanted);
      const collections = shadow.filter(({ id }) => isWanted.has(id)).map(({ collection }) => collection);
      if (collections.length !== isWanted.size) throw new AppError('collection_changed');
      for (const table of [tables.collections, tables.tenants, tables.keys, tables.judgements]) removeAll(table);
      for (const { id } of shadow) removeShadow(tables.staged, id);
      for (const collection of collections)
        tables.collections.put(catalogKey(collection.tenant, collection.name), encode(collection));
      for (const tenant of tenants) tables.tenants.put(tenantKey(tenant.tenant), encode(tenant));
      for (const key of keys) tables.keys.put(accessKeyKey(key.tenant, key.key_id), encode(key));
      const kept = (aliases ?? Array.from(wholeValues(tables.aliases), decodeAlias)).filter(
        ({ tenant, alias, collection }) =>
          tables.collections.has(catalogKey(tenant, collection)) && !tables.collections.has(catalogKey(tenant, alias)),
      );
      removeAll(tables.aliases);
      for (const alias of kept) tables.aliases.put(catalogKey(alias.tenant, alias.alias), encode(alias));
      return { collections, gone, dropped: shadow.filter(({ id }) => !isWanted.has(id)), aliases: kept };
    });
  }
}

/**
 * Shadow collections. A switch is one transaction, so that after a crash the name stands for the old collection or for
 * the new one. Documents in the shards are not handled here.
 */
class ShadowStore {
  constructor(private readonly env: CatalogEnvironment) {}

  all(): ShadowRecord[] {
    return this.env.read(({ staged: shadow }) => allShadows(shadow));
  }

  stage(wanted: NewShadow): ShadowRecord {
    return this.env.write((tables) => stageIn(tables, wanted));
  }

  /** Removes a shadow collection; does nothing if it does not exist. */
  dropShadow(id: CollectionId): void {
    this.env.write(({ staged: shadow }) => void removeShadow(shadow, id));
  }

  /**
   * Gives a shadow collection its name. Throws AppError `collection_changed` if the name does not stand for `expect`,
   * or if there is no shadow collection `id`.
   */
  switchTo({ id, expect, nowIso, keptUntilMs, job }: SwitchRequest): Switched {
    return this.env.write((tables) => {
      const { collections, staged: shadow } = tables;
      const bytes = shadow.get(collectionPrefix(id));
      if (!bytes) throw new AppError('collection_changed');
      const record = decodeShadow(bytes);
      const key = catalogKey(record.collection.tenant, record.collection.name);
      const found = collections.get(key);
      const live = found && decodeCollection(found);
      if ((live?.id ?? null) !== expect) throw new AppError('collection_changed');
      if (tables.aliases.has(key)) throw new AppError('alias_conflict');
      const dropped = live ? besides(shadow, new Set([live.id])).filter((other) => other.id !== id) : [];
      for (const other of [record, ...dropped]) removeShadow(shadow, other.id);
      const collection = switched(record, live);
      collections.put(key, encode(collection));
      const previous = live ? previousOf(live, id, nowIso, keptUntilMs) : null;
      if (previous) putShadow(shadow, previous);
      if (job) putJob(tables, job);
      return { collection, previous, dropped };
    });
  }
}

/**
 * The record of a collection after a switch. A restored collection keeps its own settings; a reindexed one takes the
 * current settings and continues the query log.
 */
function switched({ purpose, collection }: ShadowRecord, live: StoredCollection | undefined): StoredCollection {
  if (purpose === 'restore' || !live) return collection;
  const { id, generation } = collection;
  const { home: _home, spread: _spread, ...settings } = live;
  return {
    ...settings,
    id,
    generation,
    ...spaceIn(collection),
    ...placementIn(collection),
    log_id: logIdOf(live),
  };
}

function previousOf(live: StoredCollection, replaces: CollectionId, nowIso: string, keptUntilMs: number): ShadowRecord {
  return {
    id: live.id,
    purpose: 'previous',
    collection: live,
    replaces,
    created_at: nowIso,
    kept_until_ms: keptUntilMs,
  };
}

/** The catalog as its owner has it. */
export class CatalogStore {
  /** Tenants and access keys, which are in the same environment. */
  readonly tenants: TenantStore;
  /** Shadow collections. */
  readonly shadow: ShadowStore;
  readonly jobs: JobStore;
  readonly aliases: AliasStore;
  readonly judgements: JudgementStore;
  /** Replacement of the whole catalog. */
  readonly dataset: DatasetStore;

  private constructor(private readonly env: CatalogEnvironment) {
    this.tenants = new TenantStore(env);
    this.shadow = new ShadowStore(env);
    this.jobs = new JobStore(env);
    this.aliases = new AliasStore(env);
    this.judgements = new JudgementStore(env);
    this.dataset = new DatasetStore(env);
  }

  static open(directory: string, takeOver: boolean, { meter, journal }: StoreOptions = {}): CatalogStore {
    return new CatalogStore(
      new CatalogEnvironment(Environment.open(directory, CATALOG_TABLES, takeOver, meter), journal),
    );
  }

  /** The journal of the catalog, if it keeps one. */
  get journal(): Journal | undefined {
    return this.env.journal;
  }

  /** The records of the journal from the one that begins with this command on. Throws DamagedRecord. */
  records(first: number): JournalRecord[] {
    return this.env.read(({ journal }) => [...readRecords(journal, first)]);
  }

  /** Runs the one transaction of a command, which is written to the journal in it. */
  journaled<T>(command: object, work: () => T): T {
    return this.env.journaled(command, work);
  }

  /** Copies the environment into a folder (lmdb.ts). */
  copyTo(directory: string): Promise<void> {
    return this.env.copyTo(directory);
  }

  appliedLog(): AppliedLog | null {
    return this.env.appliedLog();
  }

  /** Takes note that everything up to this position of the command log has been applied. */
  advance(position: LogPosition): void {
    this.env.advance(position);
  }

  all(): StoredCollection[] {
    return decodeCollections(this.packed());
  }

  /** All collections in the form that `decodeCollections` takes, and the keys of damaged records. */
  packed(): PackedRecords & { damaged: string[] } {
    const found = this.env.read(({ collections }) => [...collections.inspect(ALL)]);
    const records = found.flatMap(({ value }) => value ?? []);
    const damaged = found.flatMap(({ key, value }) => (value ? [] : [key.toString()]));
    let end = 0;
    return {
      bytes: new Uint8Array(Buffer.concat(records)),
      ends: Uint32Array.from(records, ({ length }) => (end += length)),
      damaged,
    };
  }

  /**
   * Adds a collection and gives it an id. If its name is taken, changes nothing and returns the existing collection.
   * Throws AppError `collection_limit_reached` if the tenant already has `collectionsMax`; the check is part of the
   * transaction, so concurrent requests cannot exceed the limit.
   */
  create(collection: Omit<StoredCollection, 'id'>, collectionsMax = Infinity): StoredCollection {
    return this.env.write(({ aliases, collections, settings }) => {
      const key = catalogKey(collection.tenant, collection.name);
      const taken = collections.get(key);
      if (taken) return decode(taken);
      if (aliases.has(key)) throw new AppError('alias_conflict');
      if (collectionsMax < Infinity && countOf(collections.keys(tenantPrefix(collection.tenant))) >= collectionsMax)
        throw new AppError('collection_limit_reached');
      const made = { ...collection, id: nextId(settings) };
      collections.put(key, encode(made));
      return made;
    });
  }

  /**
   * Changes a collection, possibly its name, since documents refer to its id. Throws AppError `collection_not_found` or
   * `collection_conflict`.
   */
  update(found: CollectionKey, change: CollectionChange): StoredCollection {
    return this.env.write((tables) => {
      const { aliases, collections, staged: shadow } = tables;
      const changed = { ...present(collections, found), ...change };
      const [before, after] = [catalogKey(found.tenant, found.name), catalogKey(changed.tenant, changed.name)];
      if (!after.equals(before) && collections.has(after)) throw new AppError('collection_conflict');
      if (aliases.has(after)) throw new AppError('alias_conflict');
      for (const alias of aliasesOf(tables, found))
        aliases.put(catalogKey(alias.tenant, alias.alias), encode({ ...alias, collection: changed.name }));
      collections.delete(before);
      collections.put(after, encode(changed));
      const { tenant, name, ttl } = changed;
      for (const record of besides(shadow, new Set([changed.id])))
        putShadow(shadow, {
          ...record,
          collection: { ...record.collection, tenant, name, ...(ttl !== undefined && { ttl }) },
        });
      return changed;
    });
  }

  /** Deletes a collection and its shadow collections. Throws AppError `collection_not_found`. */
  delete(found: CollectionKey): void {
    this.env.write((tables) => {
      const { collections, staged: shadow } = tables;
      const deleted = present(collections, found);
      const aliases = aliasesOf(tables, found).map(({ alias }) => alias);
      if (aliases.length > 0) throw new AppError('collection_has_aliases', undefined, { details: { aliases } });
      collections.delete(catalogKey(found.tenant, found.name));
      removeJudgements(tables, deleted);
      for (const { id } of besides(shadow, new Set([found.id]))) removeShadow(shadow, id);
    });
  }

  close(): void {
    this.env.close();
  }
}

function countOf(keys: Iterable<unknown>): number {
  let count = 0;
  for (const _ of keys) count++;
  return count;
}
