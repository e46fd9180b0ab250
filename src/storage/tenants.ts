// Tenants and keys made at run time, in the catalog's environment beside the collections: what concerns a tenant with
// its collections or keys is one transaction. Owned by the worker of shard 0; the front thread works on a copy in
// memory.
import { AppError } from '../api/errors.js';
import type { Tenant } from '../api/ids.js';
import { TENANT_KEYS_MAX } from '../api/limits.js';
import type { StoredCollection } from './catalog-commands.js';
import type { KeyRecord, StoredTenants, TenantChange, TenantRecord } from '../api/tenants.js';
import {
  type CatalogTable,
  type CatalogTables,
  besides,
  decodeCollection,
  decodeKey,
  decodeTenant,
  encodeCatalogRecord,
  removeStaged,
} from './catalog-records.js';
import { accessKeyKey, tenantKey, tenantPrefix } from './keys.js';
import type { Environment } from './lmdb.js';
import { wholeValues } from './table.js';

export class TenantStore {
  constructor(private readonly env: Environment<CatalogTable>) {}

  /** But for damaged ones: a key that cannot be read opens nothing, and the others do. */
  all(): StoredTenants {
    return this.env.read(({ tenants, keys }) => ({
      tenants: Array.from(wholeValues(tenants), decodeTenant),
      keys: Array.from(wholeValues(keys), decodeKey),
    }));
  }

  /** Throws `tenant_exists`. A tenant that only has collections so far gets its record. */
  create(tenant: TenantRecord, key: KeyRecord): void {
    this.env.write((tables) => {
      if (tables.tenants.has(tenantKey(tenant.tenant))) throw new AppError('tenant_exists');
      putTenant(tables, tenant);
      putKey(tables, key);
    });
  }

  /** The record as it is then; `tenant` where there was none yet. Throws `tenant_not_found`. */
  update(tenant: TenantRecord, change: TenantChange): TenantRecord {
    return this.env.write((tables) => {
      assertThere(tables, tenant.tenant);
      const present = tables.tenants.get(tenantKey(tenant.tenant));
      const changed = { ...(present ? decodeTenant(present) : tenant), ...change };
      putTenant(tables, changed);
      return changed;
    });
  }

  /** The collections that went with it. Throws `tenant_not_found`, and `tenant_not_empty` where not `force`. */
  delete(tenant: Tenant, force: boolean): StoredCollection[] {
    return this.env.write((tables) => {
      assertThere(tables, tenant);
      const found = [...tables.collections.entries(tenantPrefix(tenant))];
      if (found.length > 0 && !force)
        throw new AppError('tenant_not_empty', undefined, { details: { collections: found.length } });
      for (const { key } of found) tables.collections.delete(key);
      for (const key of [...tables.keys.keys(tenantPrefix(tenant))]) tables.keys.delete(key);
      tables.tenants.delete(tenantKey(tenant));
      const collections = found.map(({ value }) => decodeCollection(value));
      for (const { id } of besides(tables.staged, new Set(collections.map((collection) => collection.id))))
        removeStaged(tables.staged, id);
      return collections;
    });
  }

  /**
   * Adds a key, and `tenant` where there is no record yet. Answers the revoked key that made room. Throws
   * `tenant_not_found`, `key_limit_reached`.
   */
  createKey(tenant: TenantRecord, key: KeyRecord): KeyRecord | null {
    return this.env.write((tables) => {
      assertThere(tables, key.tenant);
      if (!tables.tenants.has(tenantKey(key.tenant))) putTenant(tables, tenant);
      const gone = makeRoom(tables, key.tenant);
      putKey(tables, key);
      return gone;
    });
  }

  /** Throws `key_not_found`. */
  revokeKey(tenant: Tenant, keyId: string, revokedAt: string): KeyRecord {
    return this.env.write((tables) => {
      const bytes = keyId.length <= 64 ? tables.keys.get(accessKeyKey(tenant, keyId)) : undefined;
      if (!bytes) throw new AppError('key_not_found');
      const key = decodeKey(bytes);
      const revoked = { ...key, revoked_at: key.revoked_at ?? revokedAt };
      putKey(tables, revoked);
      return revoked;
    });
  }
}

const putTenant = ({ tenants }: CatalogTables, record: TenantRecord): void =>
  tenants.put(tenantKey(record.tenant), encodeCatalogRecord(record));
const putKey = ({ keys }: CatalogTables, record: KeyRecord): void =>
  keys.put(accessKeyKey(record.tenant, record.key_id), encodeCatalogRecord(record));

/** A tenant is there when it was made, or has a collection. */
function assertThere({ tenants, collections }: CatalogTables, tenant: Tenant): void {
  if (tenants.has(tenantKey(tenant))) return;
  const [collection] = collections.keys(tenantPrefix(tenant));
  if (!collection) throw new AppError('tenant_not_found');
}

/** Where the tenant has all the keys it may, the one that was revoked first goes. */
function makeRoom({ keys }: CatalogTables, tenant: Tenant): KeyRecord | null {
  const present = Array.from(keys.entries(tenantPrefix(tenant)), ({ value }) => decodeKey(value));
  if (present.length < TENANT_KEYS_MAX) return null;
  const revoked = present
    .filter(({ revoked_at }) => revoked_at !== null)
    .sort((a, b) => ((a.revoked_at ?? '') < (b.revoked_at ?? '') ? -1 : 1));
  const [oldest] = revoked;
  if (!oldest) throw new AppError('key_limit_reached');
  keys.delete(accessKeyKey(tenant, oldest.key_id));
  return oldest;
}
