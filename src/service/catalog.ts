// The front thread's copy of the catalog, in memory; the worker of shard 0 has the original. A change is committed there
// first and shown here after. Made by main; used by every use case.
import { AppError } from '../contract/errors.js';
import type { CollectionId, CollectionName, Tenant } from '../contract/ids.js';
import type { Language } from '../contract/language.js';
import type { CollectionGroup, CollectionRef } from '../contract/messages.js';
import type { Collection, CollectionKey, StoredCollection } from '../contract/resources.js';
import { KeptCollections } from './kept-collections.js';

export const refOf = ({ id, generation, dim, language, precision }: Collection): CollectionRef => ({ id, generation, dim, language, precision });

export class Catalog {
  private tenants: Map<Tenant, Map<CollectionName, Collection>> | undefined;
  private readonly kept: KeptCollections;
  private readonly byIds = new Map<CollectionId, Collection>();
  /** Of tenants whose collections have been listed; kept up to date from then on. */
  private readonly sortedNames = new Map<Tenant, CollectionName[]>();
  private markLoaded: () => void = () => {};
  /** Resolves when the catalog has come from the store for the first time. */
  readonly whenLoaded = new Promise<void>((resolve) => (this.markLoaded = resolve));
  /** Dropped while a shard could not be told: it is told when it opens. */
  readonly toDrop = new Set<CollectionId>();

  /** `language`: of collections whose record names none. */
  constructor(language: Language) {
    this.kept = new KeptCollections(language);
  }

  /** Takes over what the store holds. Called when shard 0 opens, again after each death of its worker. */
  load(collections: readonly StoredCollection[]): void {
    this.tenants = new Map();
    this.byIds.clear();
    this.sortedNames.clear();
    for (const collection of collections) this.put(collection);
    this.markLoaded();
  }

  get loaded(): boolean {
    return this.tenants !== undefined;
  }

  find(tenant: Tenant, name: CollectionName): Collection | undefined {
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

  ids(): CollectionId[] {
    return [...this.byIds.keys()];
  }

  /** Ids by all else that a shard must know of them: of ten thousand collections there are few kinds. */
  groups(): CollectionGroup[] {
    const groups = new Map<string, { kind: CollectionGroup['kind']; ids: number[] }>();
    for (const { id, generation, dim, language, precision } of this.byIds.values()) {
      const name = `${generation} ${dim} ${language} ${precision}`;
      const group = groups.get(name) ?? { kind: { generation, dim, language, precision }, ids: [] };
      groups.set(name, group);
      group.ids.push(id);
    }
    return Array.from(groups.values(), ({ kind, ids }) => ({ kind, ids: Uint32Array.from(ids) }));
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
    return collection;
  }

  remove({ tenant, name, id }: CollectionKey): void {
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

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** How many of the sorted names are not behind `name`. */
function placeBehind(names: readonly string[], name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(names[middle] as string, name) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
