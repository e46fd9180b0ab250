// The front thread's copy of the catalog, in memory; the worker of shard 0 has the original. A change is committed
// there first and shown here after. Made by main; used by every use case.
import { AppError } from '../contract/errors.js';
import type { CollectionId, CollectionName, Tenant } from '../contract/ids.js';
import type { Language } from '../contract/language.js';
import type { CollectionRef } from '../contract/resources.js';
import { logIdOf, type Collection, type CollectionKey, type StoredCollection } from '../contract/resources.js';
import { KeptCollections } from './kept-collections.js';
import { compare, placeBehind } from './sorted-names.js';

export const refOf = ({ id, generation, dim, language, precision }: Collection): CollectionRef => ({
  id,
  generation,
  dim,
  language,
  precision,
});

export class Catalog {
  private tenants: Map<Tenant, Map<CollectionName, Collection>> | undefined;
  private readonly kept: KeptCollections;
  private readonly byIds = new Map<CollectionId, Collection>();
  /** Of collections whose log is under another id than their own. */
  private readonly logs = new Map<CollectionId, CollectionId>();
  /** Of tenants whose collections have been listed; kept up to date from then on. */
  private readonly sortedNames = new Map<Tenant, CollectionName[]>();
  private markLoaded: () => void = () => {};
  /** Resolves when the catalog has come from the store for the first time. */
  readonly whenLoaded = new Promise<void>((resolve) => (this.markLoaded = resolve));
  /** Dropped while a shard could not be told: it is told when it opens. */
  readonly toDrop = new Set<CollectionId>();

  /** Tenant and name, with a zero byte between, of collections whose record is damaged. */
  private damaged: ReadonlySet<string> = new Set();

  /** `language`: of collections whose record names none. */
  constructor(language: Language) {
    this.kept = new KeptCollections(language);
  }

  /** Takes over what the store holds. Called when shard 0 opens, again after each death of its worker. */
  load(collections: readonly StoredCollection[], damaged: readonly string[] = []): void {
    this.tenants = new Map();
    this.damaged = new Set(damaged);
    this.byIds.clear();
    this.logs.clear();
    this.sortedNames.clear();
    for (const collection of collections) this.put(collection);
    this.markLoaded();
  }

  get loaded(): boolean {
    return this.tenants !== undefined;
  }

  /** False where a record is damaged: then it is not known which collections there are. */
  get isWhole(): boolean {
    return this.damaged.size === 0;
  }

  /** Collections of which nothing but the name is known, as tenant, zero byte, name. */
  get damagedKeys(): ReadonlySet<string> {
    return this.damaged;
  }

  /** Throws 503 `collection_damaged`. */
  find(tenant: Tenant, name: CollectionName): Collection | undefined {
    if (this.damaged.has(`${tenant}\0${name}`)) throw new AppError('collection_damaged');
    return this.opened().get(tenant)?.get(name);
  }

  findById(id: CollectionId): Collection | undefined {
    return this.byIds.get(id);
  }

  /** Throws 404 `collection_not_found`. */
  get(tenant: Tenant, name: CollectionName): Collection {
    const found = this.find(tenant, name);
    if (!found) throw new AppError('collection_not_found');
    return found;
  }

  /** Collections of a tenant by name. */
  ofTenant(tenant: Tenant): Collection[] {
    return this.pageOfTenant(tenant, '', Infinity);
  }

  /** The first `max` collections of a tenant by name that come behind `after`. */
  pageOfTenant(tenant: Tenant, after: string, max: number): Collection[] {
    const collections = this.opened().get(tenant);
    if (!collections) return [];
    let names = this.sortedNames.get(tenant);
    if (!names) this.sortedNames.set(tenant, (names = [...collections.keys()].sort(compare)));
    const from = placeBehind(names, after);
    return names.slice(from, from + max).map((name) => collections.get(name) as Collection);
  }

  /** Tenants that have collections, by name. */
  tenantNames(): Tenant[] {
    return [...this.opened().keys()].sort(compare);
  }

  size(): { tenants: number; collections: number } {
    return { tenants: this.tenants?.size ?? 0, collections: this.byIds.size };
  }

  /** Whose log is kept under this id. */
  findByLog(logId: CollectionId): Collection | undefined {
    const found = this.byIds.get(this.logs.get(logId) ?? logId);
    return found && logIdOf(found) === logId ? found : undefined;
  }

  /** The record with what it leaves out. */
  keep(stored: StoredCollection): Collection {
    return this.kept.keep(stored);
  }

  all(): Iterable<Collection> {
    return this.byIds.values();
  }

  refs(): CollectionRef[] {
    return [...this.opened().values()].flatMap((collections) => [...collections.values()].map(refOf));
  }

  /** Answers it as it stands in the catalog. */
  put(stored: StoredCollection): Collection {
    const collection = this.kept.keep(stored);
    const tenants = this.opened();
    const collections = tenants.get(collection.tenant) ?? new Map<CollectionName, Collection>();
    const names = collections.has(collection.name) ? undefined : this.sortedNames.get(collection.tenant);
    names?.splice(placeBehind(names, collection.name), 0, collection.name);
    tenants.set(collection.tenant, collections.set(collection.name, collection));
    this.byIds.set(collection.id, collection);
    if (collection.log_id !== undefined) this.logs.set(collection.log_id, collection.id);
    return collection;
  }

  remove({ tenant, name, id }: CollectionKey): void {
    const logId = this.byIds.get(id)?.log_id;
    if (logId !== undefined) this.logs.delete(logId);
    this.byIds.delete(id);
    const collections = this.opened().get(tenant);
    const names = collections?.has(name) ? this.sortedNames.get(tenant) : undefined;
    names?.splice(placeBehind(names, name) - 1, 1);
    collections?.delete(name);
    if (collections?.size !== 0) return;
    this.opened().delete(tenant);
    this.sortedNames.delete(tenant);
  }

  private opened(): Map<Tenant, Map<CollectionName, Collection>> {
    if (!this.tenants) throw new AppError('not_ready', undefined, { retryAfterS: 1 });
    return this.tenants;
  }
}
