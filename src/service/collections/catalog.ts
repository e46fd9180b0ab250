// The in-memory catalog: the collections by tenant and name, by id and by the id of their query log. The owner of shard
// 0 has the original; a change is committed there first and then applied here, by CatalogState alone. One thread each.
import type { AliasRecord } from '../../api/aliases.js';
import type { Collection, CollectionRef } from '../../api/collections.js';
import { type CollectionKey, type StoredCollection, logIdOf, refOf } from '../../storage/catalog-commands.js';
import { type Language, PRECISION_DEFAULT } from '../../api/choices.js';
import { AppError } from '../../api/errors.js';
import type { CollectionId, CollectionName, Tenant } from '../../api/ids.js';
import { type Placement, placementIn } from '../../api/placement.js';

/** Fields that not every collection has. */
type Varying = 'log_id' | 'synonyms' | 'ttl' | keyof Omit<Placement, 'id'>;

/** The number of distinct values that collections may share; when it is exceeded, the table starts anew. */
const SHARED_MAX = 1024;

/**
 * Compact form of collections. A record from the store arrives as an object in dictionary mode with texts of its own;
 * here all collections have one hidden class and share equal values.
 */
class KeptCollections {
  /** Shared values by their JSON. They must not be modified. */
  private readonly shared = new Map<string, unknown>();

  /** `language` is the language of collections whose record has none. */
  constructor(private readonly language: Language) {}

  keep(stored: StoredCollection): Collection {
    const kept: Required<Omit<Collection, Varying>> & Pick<Collection, Varying> = {
      id: stored.id,
      tenant: this.one(stored.tenant),
      name: stored.name,
      display_name: stored.display_name === stored.name ? stored.name : stored.display_name,
      embedder_type: this.one(stored.embedder_type),
      embed_model: this.one(stored.embed_model),
      embedder_config: this.one(stored.embedder_config),
      vector_space_key: this.one(stored.vector_space_key),
      dim: stored.dim,
      created_at: stored.created_at,
      chunking: this.one(stored.chunking),
      priority_key: this.one(stored.priority_key),
      search_mode: this.one(stored.search_mode),
      language: stored.language ?? this.language,
      precision: stored.precision ?? PRECISION_DEFAULT,
      service_version: this.one(stored.service_version),
      schema_version: stored.schema_version,
      generation: stored.generation,
      ...placementIn(stored),
      ...(stored.ttl !== undefined && { ttl: stored.ttl }),
    };
    if (stored.log_id !== undefined) kept.log_id = stored.log_id;
    if (stored.synonyms !== undefined) kept.synonyms = stored.synonyms;
    return kept;
  }

  private one<T extends string | object>(value: T): T {
    const key = typeof value === 'string' ? value : JSON.stringify(value);
    const known = this.shared.get(key);
    if (known !== undefined && typeof known === typeof value) return known as T;
    if (this.shared.size >= SHARED_MAX) this.shared.clear();
    this.shared.set(key, value);
    return value;
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the number of entries of the sorted list that are less than or equal to `name`. */
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

export class MutableCatalog {
  private tenants: Map<Tenant, Map<CollectionName, Collection>> | undefined;
  private readonly kept: KeptCollections;
  private readonly byIds = new Map<CollectionId, Collection>();
  /** The id of the collection by the id of its query log, where the two differ. */
  private readonly logs = new Map<CollectionId, CollectionId>();
  /** Sorted names of the tenants whose collections have been listed, kept up to date from then on. */
  private readonly sortedNames = new Map<Tenant, CollectionName[]>();
  private markLoaded: () => void = () => {};
  /** Resolves when the catalog has been loaded from the store for the first time. */
  readonly whenLoaded = new Promise<void>((resolve) => (this.markLoaded = resolve));

  /** By tenant: the name of the collection that each alias stands for. */
  private readonly aliases = new Map<Tenant, Map<CollectionName, CollectionName>>();

  /** Collections whose record is damaged, as tenant, zero byte and name. */
  private damaged: ReadonlySet<string> = new Set();

  /** `language` is the language of collections whose record has none. */
  constructor(language: Language) {
    this.kept = new KeptCollections(language);
  }

  /**
   * Replaces the content by that of the store. Called whenever shard 0 opens, so again after each crash of its worker.
   */
  load(
    collections: readonly StoredCollection[],
    damaged: readonly string[],
    aliases: readonly AliasRecord[] = [],
  ): void {
    this.tenants = new Map();
    this.damaged = new Set(damaged);
    this.byIds.clear();
    this.logs.clear();
    this.sortedNames.clear();
    for (const collection of collections) this.put(collection);
    this.setAliases(aliases);
    this.markLoaded();
  }

  get loaded(): boolean {
    return this.tenants !== undefined;
  }

  /** False if a record is damaged: the set of existing collections is then not known completely. */
  get isWhole(): boolean {
    return this.damaged.size === 0;
  }

  /** Collections of which only the name is known, as tenant, zero byte and name. */
  get damagedKeys(): ReadonlySet<string> {
    return this.damaged;
  }

  /** The name of the collection that `name` stands for; `name` itself if it is no alias. */
  nameOf(tenant: Tenant, name: CollectionName): CollectionName {
    return this.aliases.get(tenant)?.get(name) ?? name;
  }

  /** `name` may be an alias. Throws 503 `collection_damaged`, and 503 `not_ready` before the catalog is loaded. */
  find(tenant: Tenant, name: CollectionName): Collection | undefined {
    if (this.damaged.size > 0 && this.damaged.has(`${tenant}\0${this.nameOf(tenant, name)}`))
      throw new AppError('collection_damaged');
    const collections = this.opened().get(tenant);
    return collections?.get(name) ?? collections?.get(this.nameOf(tenant, name));
  }

  findById(id: CollectionId): Collection | undefined {
    return this.byIds.get(id);
  }

  /** Throws 404 `collection_not_found`, and the errors of `find`. */
  get(tenant: Tenant, name: CollectionName): Collection {
    const found = this.find(tenant, name);
    if (!found) throw new AppError('collection_not_found');
    return found;
  }

  /** The aliases of a tenant, sorted. */
  aliasesOf(tenant: Tenant): AliasRecord[] {
    const aliases = Array.from(this.aliases.get(tenant) ?? [], ([alias, collection]) => ({
      tenant,
      alias,
      collection,
    }));
    return aliases.sort((a, b) => compare(a.alias, b.alias));
  }

  allAliases(): AliasRecord[] {
    return [...this.aliases.keys()].flatMap((tenant) => this.aliasesOf(tenant));
  }

  /** Replaces all aliases. */
  setAliases(aliases: readonly AliasRecord[]): void {
    this.aliases.clear();
    for (const alias of aliases) this.putAlias(alias);
  }

  putAlias({ tenant, alias, collection }: AliasRecord): void {
    const aliases = this.aliases.get(tenant) ?? new Map<CollectionName, CollectionName>();
    this.aliases.set(tenant, aliases.set(alias, collection));
  }

  removeAlias(tenant: Tenant, alias: CollectionName): void {
    const aliases = this.aliases.get(tenant);
    aliases?.delete(alias);
    if (aliases?.size === 0) this.aliases.delete(tenant);
  }

  /** The aliases of a renamed collection follow it. */
  moveAliases({ tenant, name }: Pick<Collection, 'tenant' | 'name'>, newName: CollectionName): void {
    for (const alias of this.aliasesOf(tenant))
      if (alias.collection === name) this.putAlias({ ...alias, collection: newName });
  }

  /** All collections of a tenant, sorted by name. */
  ofTenant(tenant: Tenant): Collection[] {
    return this.pageOfTenant(tenant, '', Infinity);
  }

  /** The first `max` collections of a tenant whose names sort after `after`. */
  pageOfTenant(tenant: Tenant, after: string, max: number): Collection[] {
    const collections = this.opened().get(tenant);
    if (!collections) return [];
    let names = this.sortedNames.get(tenant);
    if (!names) this.sortedNames.set(tenant, (names = [...collections.keys()].sort(compare)));
    const from = placeBehind(names, after);
    return names.slice(from, from + max).map((name) => collections.get(name) as Collection);
  }

  /** Tenants that have collections, sorted by name. */
  tenantNames(): Tenant[] {
    return [...this.opened().keys()].sort(compare);
  }

  size(): { tenants: number; collections: number } {
    return { tenants: this.tenants?.size ?? 0, collections: this.byIds.size };
  }

  /** The current collection whose query log has this id. */
  findByLog(logId: CollectionId): Collection | undefined {
    const found = this.byIds.get(this.logs.get(logId) ?? logId);
    return found && logIdOf(found) === logId ? found : undefined;
  }

  /** The record in compact form, with defaults for missing fields. */
  keep(stored: StoredCollection): Collection {
    return this.kept.keep(stored);
  }

  all(): Iterable<Collection> {
    return this.byIds.values();
  }

  refs(): CollectionRef[] {
    return [...this.opened().values()].flatMap((collections) => [...collections.values()].map(refOf));
  }

  put(stored: StoredCollection): void {
    const collection = this.kept.keep(stored);
    const tenants = this.opened();
    const collections = tenants.get(collection.tenant) ?? new Map<CollectionName, Collection>();
    const names = collections.has(collection.name) ? undefined : this.sortedNames.get(collection.tenant);
    names?.splice(placeBehind(names, collection.name), 0, collection.name);
    tenants.set(collection.tenant, collections.set(collection.name, collection));
    this.byIds.set(collection.id, collection);
    if (collection.log_id !== undefined) this.logs.set(collection.log_id, collection.id);
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

/** The catalog as all but CatalogState see it. */
export type Catalog = Omit<
  MutableCatalog,
  'load' | 'put' | 'remove' | 'setAliases' | 'putAlias' | 'removeAlias' | 'moveAliases'
>;
