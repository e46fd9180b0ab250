// The front thread's copy of the catalog, in memory; the worker of shard 0 has the original. A change is committed there
// first and shown here after. Made by main; used by every use case.
import { AppError } from '../contract/errors.js';
import type { CollectionId, CollectionName, Tenant } from '../contract/ids.js';
import type { CollectionRef } from '../contract/messages.js';
import type { Collection } from '../contract/resources.js';

export const refOf = ({ id, generation, dim }: Collection): CollectionRef => ({ id, generation, dim });

export class Catalog {
  private tenants: Map<Tenant, Map<CollectionName, Collection>> | undefined;
  private markLoaded: () => void = () => {};
  /** Resolves when the catalog has come from the store for the first time. */
  readonly whenLoaded = new Promise<void>((resolve) => (this.markLoaded = resolve));
  /** Dropped while a shard could not be told: it is told when it opens. */
  readonly toDrop = new Set<CollectionId>();

  /** Takes over what the store holds. Called when shard 0 opens, again after each death of its worker. */
  load(collections: readonly Collection[]): void {
    this.tenants = new Map();
    for (const collection of collections) this.put(collection);
    this.markLoaded();
  }

  get loaded(): boolean {
    return this.tenants !== undefined;
  }

  find(tenant: Tenant, name: CollectionName): Collection | undefined {
    return this.opened().get(tenant)?.get(name);
  }

  /** Throws 404 `collection_not_found`. */
  get(tenant: Tenant, name: CollectionName): Collection {
    const found = this.find(tenant, name);
    if (!found) throw new AppError('collection_not_found');
    return found;
  }

  /** Collections of a tenant by name. */
  ofTenant(tenant: Tenant): Collection[] {
    return [...(this.opened().get(tenant)?.values() ?? [])].sort((a, b) => compare(a.name, b.name));
  }

  /** Tenants that have collections, by name. */
  tenantNames(): Tenant[] {
    return [...this.opened().keys()].sort(compare);
  }

  refs(): CollectionRef[] {
    return [...this.opened().values()].flatMap((collections) => [...collections.values()].map(refOf));
  }

  put(collection: Collection): void {
    const tenants = this.opened();
    const collections = tenants.get(collection.tenant) ?? new Map<CollectionName, Collection>();
    tenants.set(collection.tenant, collections.set(collection.name, collection));
  }

  remove({ tenant, name }: Collection): void {
    const collections = this.opened().get(tenant);
    collections?.delete(name);
    if (collections?.size === 0) this.opened().delete(tenant);
  }

  private opened(): Map<Tenant, Map<CollectionName, Collection>> {
    if (!this.tenants) throw new AppError('not_ready', undefined, { retryAfterS: 1 });
    return this.tenants;
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
